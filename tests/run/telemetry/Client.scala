package cases.telemetry

import cases.Transcript
import cases.Transcript.{decimals, optional, unexpected}
import duologue.Bytes
import protocols.telemetry

object Client {
  def run(endpoint: telemetry.client.Report, transcript: Transcript): Unit = {
    val first = endpoint
      .unsigned(255, 65535, 4294967295L, -1L)
      .signed(Byte.MinValue, Short.MinValue, Int.MinValue, Long.MinValue)
    val second = received(first.flush(), transcript)
      .real(-0.25f, 1024.5)
      .old(-1L, 1L, 0.75, "1812")
      .raw(on = true, "Zürich", Bytes(0xde, 0xad))
    received(second.flush(), transcript).flush().recv() match {
      case telemetry.Echo.Enough => transcript.line("client <- enough")
      case other                 => unexpected(other)
    }
  }

  private def received(endpoint: telemetry.client.Echo, transcript: Transcript): telemetry.client.Report =
    endpoint.recv() match {
      case telemetry.Echo.Received(count, last, next) =>
        val pair = optional(last)(last => "(" + last._1.toString + ", " + decimals(last._2) + ")")
        transcript.line("client <- received(" + count.toString + ", " + pair + ")")
        next
      case other => unexpected(other)
    }
}
