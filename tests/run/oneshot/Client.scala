package cases.oneshot

import cases.Transcript
import duologue.Bytes
import duologue.abandon
import protocols.oneshot_bytes
import scala.annotation.unused

object Client {
  def run(endpoint: oneshot_bytes.client.Oneshot, @unused transcript: Transcript): Unit = {
    val done: oneshot_bytes.client.Done = endpoint.send(Bytes(0x00, 0x01, 0xfe, 0xff))
    abandon(done)
  }
}
