package cases.switchboard

import cases.Transcript
import cases.Transcript.unexpected
import protocols.calculator
import protocols.switchboard

object Client {
  def run(endpoint: switchboard.client.Open, transcript: Transcript): Unit = {
    var open = endpoint
    for (n <- List(1L, 2L)) {
      val (session, sums) = calculator.init()
      open = open.connect(session)
      sums.negate(n).recv() match {
        case calculator.Answer.Result(value, next) =>
          transcript.line("client <- result(" + value.toString + ")")
          next.quit()
        case other => unexpected(other)
      }
    }
    open.shut()
  }
}
