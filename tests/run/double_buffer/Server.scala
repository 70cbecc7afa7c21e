package cases.double_buffer

import cases.Transcript
import cases.Transcript.hex
import protocols.double_buffer
import scala.annotation.tailrec

object Server {
  def run(endpoint: double_buffer.server.Acquire, transcript: Transcript): Unit =
    show(endpoint, new Array[Byte](2), new Array[Byte](2), transcript)

  @tailrec
  private def show(
      endpoint: double_buffer.server.Acquire,
      shown: Array[Byte],
      hidden: Array[Byte],
      transcript: Transcript
  ): Unit = endpoint.recv() match {
    case double_buffer.Acquire.Request(next) =>
      transcript.line("server <- request")
      val double_buffer.Release.Release(buffer, again) = next.giveBuffer(hidden).recv()
      transcript.line("server <- release(" + hex(buffer) + ")")
      show(again, buffer, shown, transcript)
    case double_buffer.Acquire.Finish => transcript.line("server <- finish")
  }
}
