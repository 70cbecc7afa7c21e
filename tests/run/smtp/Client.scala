package cases.smtp

import cases.Transcript
import cases.Transcript.{list, quoted, unexpected}
import protocols.smtp

object Client {
  def run(endpoint: smtp.client.Greeting, transcript: Transcript): Unit = {
    def wrote(text: String): Unit = transcript.line("client <- " + text)
    val hello = endpoint.recv() match {
      case smtp.Greeting.Ready(domain, next) =>
        wrote("ready(" + quoted(domain) + ")")
        next
      case other => unexpected(other)
    }
    val idle = hello.ehlo("client.example").recv() match {
      case smtp.Extensions.Extensions(names, next) =>
        wrote("extensions(" + list(names)(quoted) + ")")
        next
      case other => unexpected(other)
    }
    val recipients = idle.mailFrom("alice@client.example").recv() match {
      case smtp.Sender.Ok(next) =>
        wrote("ok")
        next
      case other => unexpected(other)
    }
    val one = recipients.rcptTo("bob@server.example").recv() match {
      case smtp.Recipient.Ok(next) =>
        wrote("ok")
        next
      case other => unexpected(other)
    }
    val still = one.rcptTo("eve@elsewhere.example").recv() match {
      case smtp.Recipient.Refused(reply, next) =>
        wrote("refused({code: " + reply.code.toString + ", lines: " + list(reply.lines)(quoted) + "})")
        next
      case other => unexpected(other)
    }
    val content = still.data().recv() match {
      case smtp.GoAhead.GoAhead(next) =>
        wrote("go_ahead")
        next
      case other => unexpected(other)
    }
    val delivery = content.line("Subject: hello").line("").line("\"Hi\", she wrote.").endOfMail()
    val done = delivery.recv() match {
      case smtp.Delivery.Queued(id, next) =>
        wrote("queued(" + quoted(id) + ")")
        next
      case other => unexpected(other)
    }
    done.quit().recv() match {
      case smtp.Closing.Bye => wrote("bye")
    }
  }
}
