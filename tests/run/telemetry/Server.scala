package cases.telemetry

import cases.Transcript
import cases.Transcript.{decimals, hex, quoted, unsigned}
import protocols.telemetry
import scala.annotation.tailrec

object Server {
  def run(endpoint: telemetry.server.Report, transcript: Transcript): Unit = serve(endpoint, 1, 0L, None, transcript)

  @tailrec
  private def serve(
      endpoint: telemetry.server.Report,
      flushes: Int,
      count: Long,
      last: Option[(Boolean, Double)],
      transcript: Transcript
  ): Unit = {
    def came(name: String, values: String*): Unit = transcript.line("server <- " + name + values.mkString("(", ", ", ")"))
    endpoint.recv() match {
      case telemetry.Report.Unsigned(a, b, c, d, next) =>
        came("unsigned", a.toString, b.toString, c.toString, unsigned(d))
        serve(next, flushes, count + 1, last, transcript)
      case telemetry.Report.Signed(a, b, c, d, next) =>
        came("signed", a.toString, b.toString, c.toString, d.toString)
        serve(next, flushes, count + 1, last, transcript)
      case telemetry.Report.Real(single, double, next) =>
        came("real", decimals(single.toDouble), decimals(double))
        serve(next, flushes, count + 1, Some((single < 0, double)), transcript)
      case telemetry.Report.Old(a, b, c, d, next) =>
        came("old", a.toString, unsigned(b), decimals(c), quoted(d))
        serve(next, flushes, count + 1, last, transcript)
      case telemetry.Report.Raw(on, name, data, next) =>
        came("raw", on.toString, quoted(name), hex(data))
        serve(next, flushes, count + 1, last, transcript)
      case telemetry.Report.Flush(next) =>
        transcript.line("server <- flush")
        if (flushes == 3) next.enough()
        else serve(next.received(count, last), flushes + 1, count, last, transcript)
    }
  }
}
