package cases.simple_proto

import cases.Transcript
import protocols.simple_proto
import scala.annotation.unused

object Client {
  def run(endpoint: simple_proto.client.SayHello, @unused transcript: Transcript): Unit = {
    var saying = endpoint
    for (_ <- 1 to 3) saying = saying.sayHello()
    saying.goodBye()
  }
}
