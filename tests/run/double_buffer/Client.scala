package cases.double_buffer

import cases.Transcript
import cases.Transcript.hex
import protocols.double_buffer

object Client {
  def run(endpoint: double_buffer.client.Acquire, transcript: Transcript): Unit = {
    var acquire = endpoint
    for (n <- 1 to 3) {
      val double_buffer.WaitBuffer.GiveBuffer(buffer, next) = acquire.request().recv()
      transcript.line("client <- give_buffer(" + hex(buffer) + ")")
      java.util.Arrays.fill(buffer, n.toByte)
      acquire = next.release(buffer)
    }
    acquire.finish()
  }
}
