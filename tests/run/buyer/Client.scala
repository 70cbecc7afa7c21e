package cases.buyer

import cases.Transcript
import cases.Transcript.unexpected
import protocols.buyer
import scala.annotation.tailrec

object Client {
  def run(endpoint: buyer.client.Ask, transcript: Transcript): Unit = haggle(endpoint.ask("lamp"), transcript)

  @tailrec
  private def haggle(endpoint: buyer.client.Offered, transcript: Transcript): Unit = endpoint.recv() match {
    case buyer.Offered.Offer(price, next) =>
      transcript.line("client <- offer(" + price.toString + ")")
      if (price > 80) haggle(next.counter(price / 2), transcript) else next.accept()
    case other => unexpected(other)
  }
}
