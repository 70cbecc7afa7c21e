package cases.smtp

import cases.Transcript
import cases.Transcript.{quoted, unexpected}
import protocols.smtp
import protocols.smtpTypes.Reply
import scala.annotation.tailrec

object Server {
  def run(endpoint: smtp.server.Greeting, transcript: Transcript): Unit = {
    val extensions = endpoint.ready("server.example").recv() match {
      case smtp.Hello.Ehlo(domain, next) =>
        transcript.line("server <- ehlo(" + quoted(domain) + ")")
        next
      case other => unexpected(other)
    }
    val sender = extensions.extensions(Vector("SIZE", "8BITMIME")).recv() match {
      case smtp.Idle.MailFrom(mailbox, next) =>
        transcript.line("server <- mail_from(" + quoted(mailbox) + ")")
        next
      case other => unexpected(other)
    }
    val idle = content(recipients(sender.ok(), transcript).goAhead(), 0, transcript)
    idle.recv() match {
      case smtp.Idle.Quit(next) =>
        transcript.line("server <- quit")
        next.bye()
      case other => unexpected(other)
    }
  }

  @tailrec
  private def recipients(endpoint: smtp.server.Recipients, transcript: Transcript): smtp.server.GoAhead =
    endpoint.recv() match {
      case smtp.Recipients.RcptTo(mailbox, next) =>
        transcript.line("server <- rcpt_to(" + quoted(mailbox) + ")")
        val isOurs = mailbox.endsWith("@server.example")
        val refusal = Reply(550, Vector("no relay", "go away"))
        recipients(if (isOurs) next.ok() else next.refused(refusal), transcript)
      case smtp.Recipients.Data(next) =>
        transcript.line("server <- data")
        next
    }

  @tailrec
  private def content(endpoint: smtp.server.Content, lines: Int, transcript: Transcript): smtp.server.Idle =
    endpoint.recv() match {
      case smtp.Content.Line(text, next) =>
        transcript.line("server <- line(" + quoted(text) + ")")
        content(next, lines + 1, transcript)
      case smtp.Content.EndOfMail(next) =>
        transcript.line("server <- end_of_mail")
        next.queued("mail-" + lines.toString)
    }
}
