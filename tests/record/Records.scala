package cases

import duologue.{Recording, abandon}
import protocols.bank

/** Six events, of which the last two are that a side has left and that the other one has found that, and how many of them are missing. */
object Records {
  def main(args: Array[String]): Unit = {
    val (server, client) = bank.init()
    val waiting = client.login("holk", "1234")
    val serving = server.recv().next.ok()
    waiting.recv() match {
      case bank.LoginResponse.Ok(connected)  => abandon(connected)
      case bank.LoginResponse.Invalid(login) => abandon(login)
    }
    if (serving.recvOrClosed().isRight) throw new AssertionError("the client has left")
    Recording.flush()
    println(Recording.dropped)
    abandon(bank.init()._1)
    println(Recording.dropped)
  }
}
