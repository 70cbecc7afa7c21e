package cases.seller

import cases.Transcript
import cases.Transcript.quoted
import protocols.seller

object Client {
  def run(endpoint: seller.client.Asked, transcript: Transcript): Unit = {
    val seller.Asked.Ask(item, next) = endpoint.recv()
    transcript.line("client <- ask(" + quoted(item) + ")")
    next.offer(100L).recv() match {
      case seller.Considered.Accept => transcript.line("client <- accept")
      case seller.Considered.Counter(price, next) =>
        transcript.line("client <- counter(" + price.toString + ")")
        next.soldOut()
      case seller.Considered.WalkAway => transcript.line("client <- walk_away")
    }
  }
}
