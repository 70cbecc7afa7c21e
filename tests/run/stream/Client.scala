package cases.stream

import cases.Transcript
import duologue.abandon
import protocols.numbers
import scala.annotation.unused

object Client {
  def run(endpoint: numbers.client.Stream, @unused transcript: Transcript): Unit = {
    abandon(endpoint.send(1L).send(2L).send(3L).send(-1L))
  }
}
