package cases.type_switch

import cases.Transcript
import protocols.type_switch
import scala.annotation.tailrec

object Server {
  def run(endpoint: type_switch.server.Start, transcript: Transcript): Unit =
    serve(endpoint, Some(-1L), transcript)

  @tailrec
  private def serve(endpoint: type_switch.server.Start, maybe: Option[Long], transcript: Transcript): Unit =
    endpoint.recv() match {
      case type_switch.Start.GetInt(next) =>
        transcript.line("server <- get_int")
        serve(next.thing(Long.MinValue), maybe, transcript)
      case type_switch.Start.GetText(next) =>
        transcript.line("server <- get_text")
        serve(next.thing("forty-two"), maybe, transcript)
      case type_switch.Start.GetMaybe(next) =>
        transcript.line("server <- get_maybe")
        serve(next.thing(maybe), None, transcript)
      case type_switch.Start.GetList(next) =>
        transcript.line("server <- get_list")
        serve(next.thing(Vector((1, true), (255, false))), maybe, transcript)
      case type_switch.Start.Stop => transcript.line("server <- stop")
    }
}
