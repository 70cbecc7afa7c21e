package cases.type_switch

import cases.Transcript
import cases.Transcript.{list, optional, quoted, unsigned}
import protocols.type_switch

object Client {
  def run(endpoint: type_switch.client.Start, transcript: Transcript): Unit = {
    def came(text: String): Unit = transcript.line("client <- thing(" + text + ")")
    val type_switch.Wait.Thing(number, second) = endpoint.getInt().recv()
    came(number.toString)
    val type_switch.Wait.Thing(text, third) = second.getText().recv()
    came(quoted(text))
    val type_switch.Wait.Thing(some, fourth) = third.getMaybe().recv()
    came(optional(some)(unsigned))
    val type_switch.Wait.Thing(none, fifth) = fourth.getMaybe().recv()
    came(optional(none)(unsigned))
    val type_switch.Wait.Thing(values, last) = fifth.getList().recv()
    came(list(values)(value => "(" + value._1.toString + ", " + value._2.toString + ")"))
    last.stop()
  }
}
