package cases.switchboard

import cases.Transcript
import cases.Transcript.unexpected
import protocols.calculator
import protocols.switchboard
import scala.annotation.tailrec

object Server {
  @tailrec
  def run(endpoint: switchboard.server.Open, transcript: Transcript): Unit = endpoint.recv() match {
    case switchboard.Open.Connect(session, next) =>
      transcript.line("server <- connect(<calculator.server.ready>)")
      session.recv() match {
        case calculator.Ready.Negate(value, again) =>
          transcript.line("server <- negate(" + value.toString + ")")
          again.result(-value).recv() match {
            case calculator.Ready.Quit => transcript.line("server <- quit")
            case other                 => unexpected(other)
          }
        case other => unexpected(other)
      }
      run(next, transcript)
    case switchboard.Open.Shut => transcript.line("server <- shut")
  }
}
