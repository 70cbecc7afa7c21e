package duologue.net

import duologue.{SessionClosed, Why}
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}
import protocols.bank
import scala.concurrent.duration.DurationInt

/** The messages of a broker: those that all languages share, and those that no correct peer sends. */
final class LinkSuite extends NetSuite {

  private lazy val vectors: Vector[Vector[String]] = lines("brokers.txt").filter(_.nonEmpty).map(_.split(" ", -1).toVector)

  private def named(kind: String): Vector[Vector[String]] = vectors.collect { case words if words(0) == kind => words.drop(1) }

  test("messages that are accepted, and what a sender makes of them; messages that are ignored") {
    val kinds = Vector("open", "accept", "data", "end", "ask", "answer", "lost", "gone", "alive")
    assert(named("packet").length > 10 && named("bad").length > 20)
    for (words <- named("packet")) {
      val packet = Packet.decode(unhex(words(1))).getOrElse(fail(words.mkString(" ")))
      def number(value: Long) = java.lang.Long.toUnsignedString(value)
      val parts = Vector(
        "number=" + number(packet.number),
        "received=" + number(packet.received),
        "read=" + number(packet.read),
        "window=" + number(packet.window),
        "bytes=" + hex(packet.bytes)
      )
      assertEquals((kinds(packet.kind), parts), (words(0), words.drop(2)))
      assertEquals(hex(packet.encode), words(1))
    }
    for (words <- named("bad")) assert(Packet.decode(unhex(words(1))).isEmpty, words(0))
  }

  test("addresses of sides, and names of servers") {
    assert(named("address").length > 2 && named("bad_address").length > 2 && named("name").nonEmpty && named("bad_name").nonEmpty)
    for (words <- named("address")) assertEquals(Subjects.processOfSide(words(0)), Some(words(1)))
    for (words <- named("bad_address")) assertEquals(Subjects.processOfSide(words.mkString(" ")), None, words.mkString(" "))
    for (words <- named("name")) assertEquals(Subjects.problemOf(words(0)), None, words(0))
    for (words <- named("bad_name")) assert(Subjects.problemOf(words.mkString(" ")).nonEmpty, words.mkString(" "))
  }

  /** A process that no implementation is: it publishes whatever a test says. */
  private final class Stranger(broker: MemoryBroker) {
    private val seen = new LinkedBlockingQueue[(String, Option[String], Packet)]
    private val subject = Subjects.subject("bank", Fingerprint.of(bank.client.$protocol.fingerprint))

    broker.subscribe("duo.at." + "5" * 32 + ".*", None, new Inbox {
      def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit =
        Packet.decode(message).filter(_.kind != Packet.Alive).foreach(packet => seen.add((subject, reply, packet)): Unit)
      def unanswered(subject: String): Unit = ()
      def lost(): Unit = ()
    }): Unit

    val hello: Array[Byte] =
      Hello(Fingerprint.of(bank.client.$protocol.fingerprint), receivesFirst = false, 4096L, 0, "bank", Vector.empty, None, None).encode

    def address(number: Int): String = "duo.at." + "5" * 32 + "." + f"$number%032x"

    def open(number: Int, packet: Packet): Unit = broker.publish(subject, Some(address(number)), packet.encode)

    def packet(kind: Int, number: Long, received: Long, read: Long, bytes: Array[Byte] = Array.emptyByteArray): Packet =
      new Packet(kind, number, received, read, 16384L, bytes)

    /** The next message of this kind for this address, and its reply subject. */
    def until(number: Int, kind: Int): (Packet, String) = {
      var found = Option.empty[(Packet, String)]
      while (found.isEmpty) {
        val next = seen.poll(Patience, TimeUnit.SECONDS)
        assert(next != null, "no message of kind " + kind.toString)
        // Messages that begin no session are not answered.
        assert(!(number == 2 && next._1 == address(1)), "an answer to what is not a hello")
        if (next._1 == address(number) && next._3.kind == kind) found = Some((next._3, next._2.getOrElse("")))
      }
      found.get
    }
  }

  private def strangerAtBank(test: (MemoryBroker, Stranger) => Unit): Unit = {
    val broker = new MemoryBroker(1L)
    val exchange = Exchange.over(broker.connection(), ExchangeOptions(200.millis))
    val listener = Listener.through(exchange, "bank").start()
    try {
      val first = spawn(listener.accept(bank.server))
      eventually(broker.kinds(Packet.Gone).get >= 2)
      test(broker, new Stranger(broker))
      // The listener still serves others.
      val here = Exchange.over(broker.connection(), ExchangeOptions(200.millis))
      val client = connectThrough(bank.client, here, "bank")
      duologue.flush(client.login("holk", "1234"))
      await(first).recv(): Unit
      here.close()
    } finally {
      listener.close()
      exchange.close()
      broker.close()
    }
  }

  test("a first message has one hello and nothing else, and a usable reply subject") {
    strangerAtBank { (broker, stranger) =>
      val hello = stranger.hello
      val bad = List(
        stranger.packet(Packet.Open, 1L, 0L, 0L, hello :+ 0.toByte),
        stranger.packet(Packet.Open, 1L, 0L, 0L, hello.dropRight(1)),
        stranger.packet(Packet.Open, 1L, 0L, 0L, hello ++ new Array[Byte](100000)),
        stranger.packet(Packet.Open, 2L, 0L, 0L, hello),
        stranger.packet(Packet.Open, 1L, 1L, 0L, hello),
        stranger.packet(Packet.Open, 1L, 0L, 1L, hello),
        stranger.packet(Packet.Data, 1L, 0L, 0L, hello)
      )
      bad.foreach(stranger.open(1, _))
      val subject = Subjects.subject("bank", Fingerprint.of(bank.client.$protocol.fingerprint))
      broker.publish(subject, None, stranger.packet(Packet.Open, 1L, 0L, 0L, hello).encode)
      broker.publish(subject, Some(subject), stranger.packet(Packet.Open, 1L, 0L, 0L, hello).encode)
      // Refused, because its version is unknown: the beginning shows that.
      val newer = hello.clone()
      newer(8) = 9
      stranger.open(2, stranger.packet(Packet.Open, 1L, 0L, 0L, newer))
      val (refusal, _) = stranger.until(2, Packet.Accept)
      assertEquals(refusal.bytes(9) & 0xff, Verdict.UnknownVersion)
    }
  }

  test("what does not fit ends a session as lost, and the peer is notified until it confirms") {
    val data = Array[Byte](0, 0)
    val wrong: List[(String, Stranger => Packet)] = List(
      "a gap" -> (_.packet(Packet.Data, 3L, 1L, 0L, data)),
      "the largest number" -> (_.packet(Packet.Data, -1L, 1L, 0L, data)),
      "more received than was sent" -> (_.packet(Packet.Answer, 1L, 9L, 0L)),
      "more read than was sent" -> (_.packet(Packet.Answer, 1L, 1L, 1L << 40)),
      "a huge count" -> (_.packet(Packet.Answer, 1L, -1L, -1L)),
      "more than the credit" -> (_.packet(Packet.Data, 2L, 1L, 0L, new Array[Byte](70000)))
    )
    for ((what, make) <- wrong) {
      val broker = new MemoryBroker(2L)
      val exchange = Exchange.over(broker.connection(), ExchangeOptions(100.millis))
      val listener = Listener.through(exchange, "bank").start()
      val accepting = spawn(listener.accept(bank.server))
      eventually(broker.kinds(Packet.Gone).get >= 2)
      val stranger = new Stranger(broker)
      stranger.open(1, stranger.packet(Packet.Open, 1L, 0L, 0L, stranger.hello))
      assertEquals(stranger.until(1, Packet.Answer)._1.received, 1L)
      val (accept, server) = stranger.until(1, Packet.Accept)
      assertEquals((accept.number, accept.received, accept.bytes(9).toInt), (1L, 1L, Verdict.Equal), what)
      // Whatever is delivered twice is ignored.
      stranger.open(1, stranger.packet(Packet.Open, 1L, 0L, 0L, stranger.hello))
      broker.publish(server, None, make(stranger).encode)
      assertEquals(intercept[SessionClosed](await(accepting).recv()).why, Why.Lost: Why, what)
      stranger.until(1, Packet.Lost): Unit
      stranger.until(1, Packet.Lost): Unit
      broker.publish(server, None, Packet.plain(Packet.Gone).encode)
      eventually(listener.size == 0)
      listener.close()
      exchange.close()
      broker.close()
    }
  }

  test("a message for a session that is not there is answered with gone") {
    val broker = new MemoryBroker(3L)
    val exchange = Exchange.over(broker.connection(), ExchangeOptions(100.millis))
    val stranger = new Stranger(broker)
    broker.publish(exchange.toString.replace("Exchange(", "duo.at.").stripSuffix(")") + "." + "0" * 32, Some(stranger.address(7)), Packet.plain(Packet.Lost).encode)
    stranger.until(7, Packet.Gone): Unit
    exchange.close()
    broker.close()
  }

  test("the credit of a process is limited") {
    val post = new Post(new MemoryBroker(4L).connection(), "p")
    val windows = Iterator.continually(post.window(0L)).takeWhile(_.nonEmpty).map(_.get).toVector
    assertEquals(windows.map(_.size).sum, Post.AllWindows)
    assertEquals(windows.map(_.size).distinct, Vector(65536L, 16384L, 4096L))
    windows.foreach(_.release())
    windows.foreach(_.release())
    assertEquals(post.window(100L).map(_.size), Some(65636L))
  }
}
