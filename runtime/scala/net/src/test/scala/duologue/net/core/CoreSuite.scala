package duologue.net

import duologue.{Memory, PortSet, SessionClosed, Why, abandon, flush, trySend}
import java.nio.ByteBuffer
import protocols.{bank, numbers}
import scala.annotation.tailrec
import scala.concurrent.duration.DurationInt
import timed.{visit => limited}

/** Sessions without sockets and threads: bytes, the program's calls and a clock that the test turns go in; bytes, messages and reasons come
  * out.
  */
final class CoreSuite extends BankSuite {

  // ---- time limits of states

  /** A server that waits for a message for at most an hour. */
  private def thinking(wire: Memory = new Memory): (limited.server.Slow, Around) = {
    val (choose, around) = begun(limited.server, wire)
    around.arrive("03")
    val limited.Choose.Think(slow) = choose.recv(): @unchecked
    (slow, around)
  }

  test("a peer that does not send in time is late") {
    val (first, around) = thinking()
    around.pass(59.minutes)
    assertEquals(first.tryRecv(), None)
    around.arrive("01" + "03")
    val limited.Slow.Done(choose) = first.recv(): @unchecked
    val limited.Choose.Think(second) = choose.recv(): @unchecked
    // Each state has its own time.
    around.pass(59.minutes)
    assertEquals(second.tryRecv(), None)
    around.pass(2.minutes)
    assertEquals(why(second.recv()), Why.Late: Why)
    assertEquals(around.sent(), "000302")
    assert(around.wire.isClosed)
  }

  test("states without a limit wait on, and so does the program's own turn") {
    val (choose, around) = begun(limited.server)
    around.arrive("04")
    val limited.Choose.Rest(free) = choose.recv(): @unchecked
    around.pass(100.hours)
    around.arrive("01" + "06")
    val limited.Free.Done(next) = free.recv(): @unchecked
    assertEquals(next.recv(), limited.Choose.Bye)
  }

  test("a peer is late in a set and for a future") {
    val (inSet, around) = thinking()
    val set = PortSet[limited.Slow, Int]()
    set.add(inSet, 1)
    assertEquals(set.tryRecv().map(_.value), None)
    around.pass(2.hours)
    set.tryRecv() match {
      case Some(PortSet.Closed(value, left)) => assertEquals((value, left.why), (1, Why.Late: Why))
      case other                             => fail(other.toString)
    }
    val (waiting, other) = thinking()
    val received = waiting.recvAsync()
    assert(!received.isCompleted)
    other.pass(2.hours)
    assertEquals(received.value.map(outcome => why(outcome.get)), Some(Why.Late: Why))
  }

  test("a peer is late for a program that does nothing") {
    val (waiting, around) = thinking()
    around.pass(2.hours)
    assertEquals(around.sent(), "000302")
    assertEquals(why(waiting.recv()), Why.Late: Why)
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
    val (waiting, around) = thinking(peer)
    around.pass(59.minutes)
    around.arrive("0001" * 1000)
    assertEquals(waiting.tryRecv(), None)
    peer.isOn = true
    around.pass(2.minutes)
    assertEquals(why(waiting.recv()), Why.Late: Why)
  }

  test("a peer that sends a message without end is late") {
    val (choose, around) = begun(limited.server)
    around.arrive("01")
    val limited.Choose.Hurry(waiting) = choose.recv(): @unchecked
    // The beginning of a message of a mebibyte.
    around.arrive("02808040fdff3f" + "00" * 1000)
    around.far.ready()
    around.wire.arrive(new Array[Byte](1000))
    around.pass(1.second)
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

  test("messages that wait for a slow program are in time") {
    val words = 20000
    val (choose, around) = begun(limited.server)
    around.arrive("05" + "01" * words + "0206")
    val limited.Choose.Talk(first) = choose.recv(): @unchecked
    for (_ <- 1 to 10) around.pass(1.hour)
    val last = (1 to words).foldLeft(first) { (listening, _) =>
      val limited.Talking.Word(next) = listening.recv(): @unchecked
      next
    }
    val limited.Talking.Done(end) = last.recv(): @unchecked
    assertEquals(end.recv(), limited.Choose.Bye)
  }

  test("a session in which the peer sends nothing ends as late") {
    val (login, around) = begun(bank.server, idle = 1.hour)
    around.pass(2.hours)
    assertEquals(why(login.recv()), Why.Late: Why)
    // It is the client's turn, for as long as it wants.
    val (client, other) = begun(bank.client, idle = 1.hour)
    other.pass(2.hours)
    val waiting = client.login("holk", "1234")
    other.pass(59.minutes)
    assertEquals(waiting.tryRecv(), None)
    other.pass(2.minutes)
    assertEquals(why(waiting.recv()), Why.Late: Why)
  }

  test("a peer that reads nothing is late, and finds that once it reads") {
    val (client, around) = begun(bank.client, idle = 1.hour)
    around.wire.space = 5
    val waiting = client.login("holk", "1234")
    around.pass(59.minutes)
    assertEquals(waiting.tryRecv(), None)
    around.pass(2.minutes)
    assertEquals(why(waiting.recv()), Why.Late: Why)
    around.wire.space = 100
    around.far.ready()
    assertEquals(around.sent(), "010a04686f6c6b0431323334" + "000302")
    assert(around.wire.isClosed)
    // A sender that waits for space.
    val (stream, other) = begun(numbers.client, idle = 1.hour)
    other.wire.space = 0
    val full = filled(stream)
    other.pass(2.hours)
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

  @tailrec
  private def filled(client: numbers.client.Stream, sent: Long = 0L): numbers.client.Stream = trySend(client)(_.send(sent)) match {
    case Some(next) => filled(next, sent + 1L)
    case None       => client
  }

  test("a sender has no space until the connection has taken what was sent") {
    val (first, around) = begun(numbers.client)
    around.wire.space = 0
    val full = filled(first)
    assertEquals(around.sent(), "-")
    assertEquals(trySend(full)(_.send(0L)).map(_.toString), None)
    around.wire.space = Int.MaxValue
    around.far.ready()
    assert(trySend(full)(_.send(0L)).nonEmpty)
    assert(around.wire.sent().length > (64 << 10))
  }

  test("a connection is closed when everything is written, or soon after the end of the session") {
    for (isTaken <- List(true, false)) {
      val (client, around) = begun(bank.client)
      around.wire.space = 0
      val waiting = client.login("holk", "1234")
      abandon(waiting)
      around.pass(1.second)
      assert(!around.wire.isClosed)
      if (isTaken) {
        around.wire.space = 100
        around.far.ready()
      } else around.pass(5.seconds)
      assert(around.wire.isClosed)
      assertEquals(around.sent(), if (isTaken) "010a04686f6c6b0431323334" + "000300" else "-")
    }
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

  // ---- bytes

  private def whyOf(session: => Unit): Option[Why] =
    try {
      session
      None
    } catch { case closed: SessionClosed => Some(closed.why) }

  private def rows(kind: String): Vector[Array[String]] = {
    val found = lines("streams.txt").filter(_.startsWith(kind + " ")).map(_.split(' '))
    assert(found.nonEmpty)
    found
  }

  private lazy val helloLength = helloOf(bank.client).length

  test("a session that breaks the format ends as in every implementation") {
    val more = List("010a04686f6c6b0577726f6e6700", "018000", "8101", "01818040", "0009", "01ffffffffff")
    val broken = rows("broken").map(words => words(1) -> unhex(words(2)).drop(helloLength)) ++ more.map(bytes => bytes -> unhex(bytes))
    for ((name, bytes) <- broken) {
      val (login, around) = begun(bank.server)
      around.wire.arrive(bytes)
      assertEquals(whyOf(teller(login): Unit), Some(Why.Broken), name)
      assertEquals(around.sent().takeRight(6), "000301", name)
    }
    val (login, around) = begun(bank.server)
    around.arrive("000301")
    assertEquals(why(login.recv()), Why.Broken: Why)
  }

  test("a client that leaves says why, after what it has sent before") {
    for (words <- rows("ended")) {
      val (login, around) = begun(bank.server)
      val (message, end) = unhex(words(2)).drop(helloLength).splitAt(unhex(words(2)).length - helloLength - 3)
      around.wire.arrive(message)
      val bank.Login.Login(_, _, answer) = login.recv()
      val next = answer.ok()
      around.wire.arrive(end)
      assertEquals(whyOf(next.recv(): Unit).map(_.toString.toLowerCase), Some(words(3)), words(1))
    }
  }

  /** The messages of a session: whether the connecting side sends them, and their bytes. */
  private lazy val whole: Vector[(Boolean, Array[Byte])] =
    lines("streams.txt").dropWhile(_ != "session whole").slice(3, 13).map { line =>
      val words = line.split(' ')
      (words(0) == ">", unhex(words(1)))
    }

  /** Plays the peer in that session: what it sends arrives once what precedes it was sent, `piece` bytes at a time, and `cut` bytes of it in
    * total.
    */
  private final class Playing(isClient: Boolean, cut: Int = Int.MaxValue, piece: Int = Int.MaxValue) extends Memory {
    private var (parts, got, left) = (whole, Array.emptyByteArray, cut)

    override def read(into: ByteBuffer): Int = {
      got ++= sent()
      parts match {
        case (`isClient`, bytes) +: rest =>
          val now = bytes.take(math.min(piece, left))
          left -= now.length
          arrive(now)
          parts = if (now.length < bytes.length) (isClient, bytes.drop(now.length)) +: rest else rest
        case (_, bytes) +: rest if got.length >= bytes.length =>
          assertEquals(hex(got.take(bytes.length)), hex(bytes))
          got = got.drop(bytes.length)
          parts = rest
          return read(into)
        case _ => ()
      }
      if (left == 0) end()
      super.read(into)
    }

    /** What the other side has sent has all been expected. */
    def isOver: Boolean = parts.forall(_._1 != isClient) && hex(got ++ sent()) == hex(parts.flatMap(_._2.toVector).toArray)
  }

  /** The programs of the two sides in that session. */
  private def buy(login: bank.client.Login): Unit =
    login.login("holk", "wrong").recv() match {
      case bank.LoginResponse.Invalid(again) =>
        accepted(again.login("holk", "1234")).deposit(100.0).withdrawal(30.0).recv() match {
          case bank.WithdrawalResponse.Money(30.0, next) =>
            next.withdrawal(500.0).recv() match {
              case bank.WithdrawalResponse.InsufficientFunds(next) => next.quit()
              case other                                           => fail(other.toString)
            }
          case other => fail(other.toString)
        }
      case other => fail(other.toString)
    }

  @tailrec
  private def sell(connected: bank.server.Connected, balance: Double = 0.0): Unit = connected.recv() match {
    case bank.Connected.Deposit(money, next)                         => sell(next, balance + money)
    case bank.Connected.Withdrawal(amount, next) if amount > balance => sell(next.insufficientFunds(), balance)
    case bank.Connected.Withdrawal(amount, next)                     => sell(next.money(amount), balance - amount)
    case bank.Connected.Quit                                         => ()
  }

  private def play(asClient: Boolean, peer: Playing): Option[Why] =
    whyOf(if (asClient) buy(begun(bank.client, peer)._1) else sell(teller(begun(bank.server, peer)._1)))

  test("either side says and understands the bytes of a whole session, also one byte at a time") {
    for (asClient <- List(true, false); piece <- List(Int.MaxValue, 1)) {
      val peer = new Playing(!asClient, piece = piece)
      assertEquals(play(asClient, peer), None)
      assert(peer.isOver && peer.isClosed)
    }
  }

  test("a side whose session is cut after any byte reports that it is lost") {
    for (asClient <- List(true, false)) {
      val length = whole.collect { case (isClient, bytes) if isClient != asClient => bytes.length }.sum
      for (cut <- 0 until length) {
        val peer = new Playing(!asClient, cut)
        assertEquals(play(asClient, peer), Some(Why.Lost), "after " + cut.toString + " bytes")
        assert(peer.isClosed)
      }
    }
  }
}
