package cases

import duologue.SessionClosed
import duologue.robots.{Choices, Ending, Play}
import org.scalacheck.{Prop, Test}
import org.scalacheck.rng.Seed
import protocols.bank

object Shrinking {
  /** The code that is tested: a bank that leaves when it should pay more than 20. */
  def serve(login: bank.server.Login): Unit =
    try {
      val bank.Login.Login(_, _, answer) = login.recv()
      pay(answer.ok())
    } catch { case _: SessionClosed => () }

  @scala.annotation.tailrec
  def pay(account: bank.server.Connected): Unit = account.recv() match {
    case bank.Connected.Deposit(_, next)         => pay(next)
    case bank.Connected.Withdrawal(amount, next) =>
      if (amount > 20.0) duologue.abandon(next) else pay(next.money(amount))
    case bank.Connected.Quit                     => ()
  }

  /** A session that these bytes decide: whether the bank has left, and the transcript. */
  def play(bytes: List[Byte]): (Boolean, String) = {
    val (server, client) = bank.init()
    val teller = new Thread(() => serve(server))
    teller.start()
    val play = new Play(Choices.bytes(bytes.toArray))
    val ending = bank.robots.client(client, play)
    teller.join()
    (ending.isInstanceOf[Ending.Closed], play.transcript)
  }

  def main(args: Array[String]): Unit = {
    val stays = Prop.forAll((bytes: List[Byte]) => !play(bytes)._1)
    val settings = Test.Parameters.default.withInitialSeed(Seed(1L)).withMinSuccessfulTests(2000)
    Test.check(settings, stays).status match {
      case Test.Failed(List(found), _) =>
        val (_, transcript) = play(found.arg.asInstanceOf[List[Byte]])
        // A login, the answer, the withdrawal and the end.
        assert(transcript.linesIterator.length == 4, transcript)
        assert(transcript.endsWith("client <- closed\n"), transcript)
      case other => throw new AssertionError(other.toString)
    }
  }
}
