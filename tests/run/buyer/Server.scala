package cases.buyer

import cases.Transcript
import cases.Transcript.quoted
import protocols.buyer
import scala.annotation.tailrec

object Server {
  def run(endpoint: buyer.server.Ask, transcript: Transcript): Unit = {
    val buyer.Ask.Ask(item, next) = endpoint.recv()
    transcript.line("server <- ask(" + quoted(item) + ")")
    haggle(next.offer(100L), transcript)
  }

  @tailrec
  private def haggle(endpoint: buyer.server.Consider, transcript: Transcript): Unit = endpoint.recv() match {
    case buyer.Consider.Accept => transcript.line("server <- accept")
    case buyer.Consider.Counter(price, next) =>
      transcript.line("server <- counter(" + price.toString + ")")
      haggle(next.offer(price + 25), transcript)
    case buyer.Consider.WalkAway => transcript.line("server <- walk_away")
  }
}
