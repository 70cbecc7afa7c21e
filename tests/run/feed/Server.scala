package cases.feed

import cases.Transcript
import cases.Transcript.quoted
import duologue.abandon
import protocols.feed
import scala.annotation.tailrec

object Server {
  @tailrec
  def run(endpoint: feed.server.Idle, transcript: Transcript): Unit = endpoint.recv() match {
    case feed.Idle.Subscribe(topic, to, next) =>
      transcript.line("server <- subscribe(" + quoted(topic) + ", <stream.client.Stream>)")
      if (topic == "primes") {
        val idle = next.subscribed()
        abandon(to.send(2L).send(3L).send(5L))
        run(idle, transcript)
      } else run(next.unknownTopic(to), transcript)
    case feed.Idle.Leave => transcript.line("server <- leave")
  }
}
