package duologue.net

import duologue.{Clock, Memory, PortSet, Why, flush, trySend}
import java.nio.ByteBuffer
import protocols.{bank, numbers}
import scala.concurrent.duration.DurationInt
import timed.{visit => limited}

/** Sessions without sockets and threads, in what `TranscriptsSuite` does not play: sets and futures, senders that wait for space, and what
  * differs between implementations.
  */
final class CoreSuite extends NetSuite {

  override def beforeAll(): Unit = Clock.stop()

  override def afterAll(): Unit = {
    Clock.resume()
    super.afterAll()
  }

  // ---- time limits of states

  /** A server that waits for a message for at most 100 ms. */
  private def hurried(wire: Memory = new Memory): (limited.server.Quick, Around) = {
    val (choose, around) = begun(limited.server, wire)
    around.arrive("01")
    val limited.Choose.Hurry(quick) = choose.recv(): @unchecked
    (quick, around)
  }

  test("a peer is late in a set and for a future") {
    val (inSet, around) = hurried()
    val set = PortSet[limited.Quick, Int]()
    set.add(inSet, 1)
    assertEquals(set.tryRecv().map(_.value), None)
    around.pass(2.hours)
    set.tryRecv() match {
      case Some(PortSet.Closed(value, left)) => assertEquals((value, left.why), (1, Why.Late: Why))
      case other                             => fail(other.toString)
    }
    val (waiting, other) = hurried()
    val received = waiting.recvAsync()
    assert(!received.isCompleted)
    other.pass(2.hours)
    assertEquals(received.value.map(outcome => why(outcome.get)), Some(Why.Late: Why))
  }

  /** A peer that says without end that it is there. */
  private final class Flooding extends Memory {
    var isOn = false

    override def read(into: ByteBuffer): Int =
      if (!isOn) super.read(into)
      else {
        val count = into.remaining / 2
        for (_ <- 1 to count) into.put(0: Byte).put(1: Byte): Unit
        2 * count
      }
  }

  test("a peer that sends without end, but no message, is late") {
    val peer = new Flooding
    val (waiting, around) = hurried(peer)
    around.pass(99.millis)
    around.arrive("0001" * 1000)
    assertEquals(waiting.tryRecv(), None)
    peer.isOn = true
    around.pass(2.minutes)
    assertEquals(why(waiting.recv()), Why.Late: Why)
  }

  test("a sender that is late learns it without a wait") {
    val (choose, around) = begun(limited.client)
    val client = choose.hurry()
    flush(client)
    assertEquals(around.sent(), "01")
    around.arrive("000302")
    around.pass(1.second)
    assertEquals(why(client.done()), Why.Late: Why)
    assert(around.wire.isClosed)
  }

  test("a peer that reads nothing is late for a sender that waits for space") {
    val (stream, around) = begun(numbers.client, idle = 1.hour)
    around.wire.space = 0
    val full = filled(stream)._1
    around.pass(2.hours)
    assertEquals(why(full.send(0L)), Why.Late: Why)
  }

  // ---- heartbeats

  test("a side with a heartbeat says that it is there, and a peer that does not is lost") {
    val (login, around) = begun(bank.server, own = Hour, peers = Hour)
    around.pass(20.minutes)
    assertEquals(around.sent(), "-")
    for (_ <- 1 to 10) {
      around.pass(2.hours)
      assertEquals(around.sent(), "0001")
      around.arrive("0001")
      assertEquals(login.tryRecv(), None)
    }
    around.pass(2.hours)
    assertEquals(login.tryRecv(), None)
    around.pass(2.hours)
    val told = closed(login.recv())
    assertEquals(told.why, Why.Lost: Why)
    assert(told.getMessage.contains("heartbeat of 3600 s"), told.getMessage)
    assert(around.wire.isClosed)
  }

  test("silence of the peer does not count while the program has other messages to receive first") {
    val (first, around) = begun(numbers.server, peers = Hour)
    around.arrive("010700000000000000" * 1000)
    around.far.ready()
    for (_ <- 1 to 10) around.pass(2.hours)
    val last = (1 to 1000).foldLeft(first) { (server, _) =>
      val numbers.Stream.Send(value, next) = server.recv()
      assertEquals(value, 7L)
      next
    }
    around.pass(2.hours)
    assertEquals(last.tryRecv().map(_.value), None)
    around.pass(2.hours)
    assertEquals(why(last.recv()), Why.Lost: Why)
  }

  // ---- space, and the end

  test("a sender has no space until the connection has taken what was sent") {
    val (first, around) = begun(numbers.client)
    around.wire.space = 0
    val full = filled(first)._1
    assertEquals(around.sent(), "-")
    assertEquals(trySend(full)(_.send(0L)).map(_.toString), None)
    around.wire.space = Int.MaxValue
    around.far.ready()
    assert(trySend(full)(_.send(0L)).nonEmpty)
    assert(around.wire.sent().length > (64 << 10))
  }

  test("a session that the program ends is lost for its side, and the peer learns that it was left") {
    val (login, around) = begun(bank.server)
    around.arrive("010a04686f6c6b0431323334")
    around.far.ready()
    around.far.end()
    val bank.Login.Login(name, _, next) = login.recv()
    assertEquals(name, "holk")
    assertEquals(why(next.ok()), Why.Lost: Why)
    assertEquals(around.sent(), "000300")
    assert(around.wire.isClosed)
  }
}
