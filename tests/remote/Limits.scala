package cases

import duologue.{Bytes, SessionClosed}
import duologue.net.{Listener, Peer, connect}
import narrow.{journal => bounded}
import timed.{visit => timely}
import untimed.{visit => timeless}
import wide.{journal => free}
import wide.wideTypes.Entry

/** One side of sessions in which a client sends more than the server's limits allow, as
  * `tests/conversations/src/bin/limits.rs` describes it.
  */
object Limits {
  private val all = Vector("fits", "field", "items", "item", "message", "entry", "inner", "protocol")

  private def send(what: String, open: free.client.Open): free.client.Open = what match {
    case "fits"    => open.append(Entry("12345678", Vector("1234", "1234")))
    case "field"   => open.append(Entry("123456789", Vector()))
    case "items"   => open.append(Entry("", Vector("", "", "")))
    case "item"    => open.append(Entry("", Vector("12345")))
    case "message" => open.attach(Bytes(1, 1, 1, 1))
    case "entry"   => open.name("123456", Vector())
    case "inner"   => open.name("", Vector(Vector(1, 1, 1)))
    case _         => open.name("12345", Vector.fill(17)(Vector(1)))
  }

  private def ask(what: String, open: free.client.Open): Unit = {
    val free.Answered.Answered(_, next) = send(what, open).lookUp((1, "k"), None).recv()
    next.close()
  }

  @scala.annotation.tailrec
  private def answer(open: bounded.server.Open): Unit = open.recv() match {
    case bounded.Open.Append(_, next)    => answer(next)
    case bounded.Open.Attach(_, next)    => answer(next)
    case bounded.Open.Name(_, _, next)   => answer(next)
    case bounded.Open.LookUp(_, _, next) => answer(next.answered(narrow.narrowTypes.Answer.Note(None)))
    case bounded.Open.Close              => ()
  }

  /** The client is late, and asks, so that it learns it. */
  private def beLate(choose: timeless.client.Choose): Unit = {
    val quick = choose.hurry()
    scala.io.StdIn.readLine(): Unit
    quick.done().askQuickly().recv(): Unit
  }

  private def hurry(choose: timely.server.Choose): Unit = choose.recv() match {
    case timely.Choose.Hurry(quick) => quick.recv(): Unit
    case other                      => throw new AssertionError(other.toString)
  }

  private def report(what: String)(session: => Unit): Unit = {
    val how =
      try {
        session
        "ok"
      } catch { case closed: SessionClosed => closed.why.toString.toLowerCase }
    println(what + " " + how)
  }

  def main(arguments: Array[String]): Unit = {
    val (side, address) = (arguments(0), arguments(2))
    if (side == "client") {
      all.foreach(what => report(what)(ask(what, connect(free.client, address))))
      report("late")(beLate(connect(timeless.client, address)))
    } else {
      val listener = Listener(address)
      // From now on, because a client may be faster than this program.
      val late = listener.acceptor(timely.server)((_: Peer) => Some(()))
      println("listening " + listener.address)
      all.foreach(what => report(what)(answer(listener.accept(bounded.server))))
      report("late")(hurry(late.accept()._1))
      listener.close()
    }
  }
}
