package cases.simple_proto

import cases.Transcript
import protocols.simple_proto
import scala.annotation.tailrec

object Server {
  @tailrec
  def run(endpoint: simple_proto.server.SayHello, transcript: Transcript): Unit = endpoint.recv() match {
    case simple_proto.SayHello.SayHello(next) =>
      transcript.line("server <- SayHello")
      run(next, transcript)
    case simple_proto.SayHello.GoodBye => transcript.line("server <- GoodBye")
  }
}
