package cases.seller

import cases.Transcript
import cases.Transcript.unexpected
import protocols.seller

object Server {
  def run(endpoint: seller.server.Asked, transcript: Transcript): Unit = {
    val next = endpoint.ask("lamp").recv() match {
      case seller.Offering.Offer(price, next) =>
        transcript.line("server <- offer(" + price.toString + ")")
        next
      case other => unexpected(other)
    }
    next.counter(1L).recv() match {
      case seller.Offering.SoldOut => transcript.line("server <- sold_out")
      case other                   => unexpected(other)
    }
  }
}
