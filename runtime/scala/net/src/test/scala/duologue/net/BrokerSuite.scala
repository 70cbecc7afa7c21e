package duologue.net

import duologue.{PortSet, SessionClosed, Why, abandon, flush}
import java.util.concurrent.{ConcurrentLinkedQueue, LinkedBlockingQueue, TimeUnit}
import protocols.{bank, numbers}
import scala.annotation.tailrec
import scala.concurrent.duration.{DurationInt, DurationLong, FiniteDuration}

/** Sessions over a broker that loses, repeats, delays and reorders messages. */
final class BrokerSuite extends NetSuite {

  /** A broker, and processes at it. */
  private final class Place(seed: Long) {
    val broker = new MemoryBroker(seed)
    private val exchanges = new ConcurrentLinkedQueue[Exchange]

    def exchange(heartbeat: FiniteDuration = 300.millis): Exchange = {
      val exchange = Exchange.over(broker.connection(), ExchangeOptions(heartbeat))
      exchanges.add(exchange): Unit
      exchange
    }

    def close(): Unit = {
      exchanges.forEach(_.close())
      broker.close()
    }
  }

  private def at[T](seed: Long)(body: Place => T): T = {
    val place = new Place(seed)
    try body(place)
    finally place.close()
  }

  @tailrec
  private def teller(login: bank.server.Login): bank.server.Connected = {
    val bank.Login.Login(_, password, next) = login.recv()
    if (password == "1234") next.ok() else teller(next.invalid())
  }

  @tailrec
  private def counter(connected: bank.server.Connected): Unit = connected.recv() match {
    case bank.Connected.Deposit(_, next)         => counter(next)
    case bank.Connected.Withdrawal(amount, next) => counter(next.money(amount))
    case bank.Connected.Quit                     => ()
  }

  private def serving(place: Place, limits: Limits = Limits(), observer: Option[Observer] = None): Listener =
    Listener.through(place.exchange(), "bank", limits, observer).serve(bank.server)(login => counter(teller(login))).start()

  private def logIn(login: bank.client.Login): bank.client.Connected = login.login("holk", "1234").recv() match {
    case bank.LoginResponse.Ok(next) => next
    case other                       => fail(other.toString)
  }

  private def customer(login: bank.client.Login, turns: Int): Unit = {
    var connected = logIn(login)
    for (amount <- 1 to turns) connected = connected.withdrawal(amount.toDouble).recv() match {
      case bank.WithdrawalResponse.Money(paid, next) =>
        assertEquals(paid, amount.toDouble)
        next
      case other => fail(other.toString)
    }
    connected.quit()
  }

  private def why(session: => Any): Why = intercept[SessionClosed](session).why

  test("a bank serves its customers, drains, and is not there any more") {
    at(1L) { place =>
      val listener = serving(place)
      assertEquals(listener.address, "nats://unknown:0/bank")
      val here = place.exchange()
      for (turns <- List(0, 1, 200)) customer(connectThrough(bank.client, here, "bank"), turns)
      eventually(listener.size == 0)
      assert(listener.drain(Patience.seconds))
      val refused = intercept[Refused](connectThrough(bank.client, here, "bank"))
      assertEquals(refused.verdict, Verdict.UnknownProtocol)
    }
  }

  test("what no server understands is refused at once, and so is the same side") {
    at(2L) { place =>
      val listener = serving(place)
      val here = place.exchange()
      val patient = ConnectOptions(timeout = Patience.seconds, accepts = Seq(Fingerprint("07" * 16)))
      assertEquals(intercept[Refused](connectThrough(numbers.client, here, "bank", patient)).verdict, Verdict.UnknownProtocol)
      assertEquals(intercept[Refused](connectThrough(bank.server, here, "bank", patient)).verdict, Verdict.SameSide)
      assert(intercept[AddressMalformed](connectThrough(bank.client, here, "a bank")).getMessage.contains("letters"))
      listener.close()
    }
  }

  test("the observers of both sides, and limits") {
    at(3L) { place =>
      val seen = new LinkedBlockingQueue[String]
      def observer(side: String) = Some(new Observer {
        override def began(session: Observer.Session): Unit = seen.add(side + " " + session.protocol): Unit
        override def ended(session: Observer.Session, end: Observer.End): Unit = seen.add(side + " " + end.why.toString): Unit
        override def refused(refusal: Observer.Refusal): Unit = seen.add(side + " refused " + refusal.verdict.toString): Unit
      })
      val listener = serving(place, Limits(sessions = 1), observer("server"))
      val here = place.exchange()
      def options(side: String) = ConnectOptions(observer = observer(side))
      val first = connectThrough(bank.client, here, "bank", options("client"))
      val full = intercept[Refused](connectThrough(bank.client, here, "bank", options("other")))
      assertEquals(full.verdict, Verdict.Full)
      customer(first, 1)
      eventually(seen.size >= 6)
      val expected = List(
        "client Left",
        "client protocols.bank",
        "other refused Some(18)",
        "server Left",
        "server protocols.bank",
        "server refused Some(18)"
      )
      val all = seen.toArray(Array.empty[String]).toList.sorted
      assertEquals(all.map(_.replace("protocols.", "")), expected.map(_.replace("protocols.", "")))
      listener.close()
    }
  }

  test("a server that is full leaves the group until it has space, and clients learn that all are full") {
    at(17L) { place =>
      val subject = Subjects.subject("bank", Fingerprint.of(bank.client.$protocol.fingerprint))
      val here = place.exchange()
      def connected() = logIn(connectThrough(bank.client, here, "bank", ConnectOptions(timeout = Patience.seconds)))
      val small = serving(place, Limits(sessions = 2))
      val held = List(connected(), connected())
      assertEquals(place.broker.count(subject), 0)
      assertEquals(intercept[Refused](connectThrough(bank.client, here, "bank")).verdict, Verdict.Full)
      assertEquals(intercept[Refused](connectThrough(numbers.client, here, "bank")).verdict, Verdict.UnknownProtocol)
      val large = serving(place)
      for (_ <- 1 to 50) connected().quit()
      assertEquals(small.size, 2)
      eventually(large.size == 0)
      assert(large.drain(Patience.seconds))
      held.foreach(_.quit())
      eventually(place.broker.count(subject) == 1)
      connected().quit()
      eventually(small.size == 0)
      assert(small.drain(Patience.seconds))
      assertEquals(place.broker.count(subject), 0)
    }
  }

  /** Sends numbers until the session is lost, or this many have been sent: how many, and why it ended. */
  private def send(client: numbers.client.Stream, count: Long): (Long, Option[Why]) = {
    var stream = client
    var number = 0L
    try {
      while (number < count) {
        stream = stream.send(number)
        number += 1L
      }
      abandon(stream)
      (number, None)
    } catch { case closed: SessionClosed => (number, Some(closed.why)) }
  }

  /** Receives numbers, which must come in order and once, until the end: how many, and why it ended. */
  private def receive(server: numbers.server.Stream): (Long, Why) = {
    var stream = server
    var count = 0L
    try {
      while (true) {
        val numbers.Stream.Send(number, next) = stream.recv()
        if (number != count) throw new AssertionError("expected " + count.toString + ", and " + number.toString + " has come")
        count += 1L
        stream = next
      }
      (count, Why.Left)
    } catch { case closed: SessionClosed => (count, closed.why) }
  }

  /** Every message arrives once and in order, or both sides are lost. Returns how many have arrived if the session is lost. */
  private def allOrLost(seed: Long)(faults: MemoryBroker => Unit): Option[Long] = at(seed) { place =>
    val count = 5000L
    val listener = Listener.through(place.exchange(), "numbers")
    val receiving = spawn(receive(listener.accept(numbers.server)))
    val here = place.exchange()
    eventually(place.broker.kinds(Packet.Gone).get >= 3)
    val client = connectThrough(numbers.client, here, "numbers", ConnectOptions(timeout = Patience.seconds))
    faults(place.broker)
    val (sent, sentWhy) = send(client, count)
    val (received, receivedWhy) = await(receiving)
    listener.close()
    if (receivedWhy == (Why.Left: Why)) {
      assertEquals((received, sentWhy), (count, Option.empty[Why]), "seed " + seed.toString)
      None
    } else {
      assertEquals(receivedWhy, Why.Lost: Why, "seed " + seed.toString)
      // The sender has either noticed, or had sent everything before the loss.
      assert(sentWhy.contains(Why.Lost: Why) || sent == count, "seed " + seed.toString + " " + sentWhy.toString)
      assert(received <= sent)
      Some(received)
    }
  }

  test("messages that are repeated or late arrive once") {
    for (seed <- 1L to 3L)
      assertEquals(
        allOrLost(seed) { broker =>
          broker.repeats = 200
          broker.delays = 20
        },
        None
      )
  }

  test("a session with a gap is lost for both") {
    val lost = (1L to 8L).count { seed =>
      allOrLost(seed) { broker =>
        if (seed % 2L == 0L) {
          broker.loses = 100
          broker.repeats = 50
        } else {
          broker.swaps = 200
          broker.delays = 5
        }
      }.nonEmpty
    }
    // With these faults, some sessions are lucky.
    assert(lost > 2, "the faults have no effect: " + lost.toString)
  }

  test("a loss at the end is noticed, and so is a process that is silent") {
    for (isBack <- List(true, false))
      at(4L) { place =>
        val listener = serving(place)
        val connected = logIn(connectThrough(bank.client, place.exchange(), "bank"))
        place.broker.loses = 1000
        val answer = connected.withdrawal(1.0)
        flush(answer)
        val waiting = spawn(why(answer.recv()))
        Thread.sleep(20L)
        if (isBack) place.broker.loses = 0
        assertEquals(await(waiting), Why.Lost: Why)
        eventually(listener.size == 0)
        listener.close()
      }
  }

  test("a slow reader takes bounded memory, and returns the credit as it reads") {
    at(5L) { place =>
      val listener = Listener.through(place.exchange(), "numbers")
      val accepting = spawn(listener.accept(numbers.server))
      eventually(place.broker.kinds(Packet.Gone).get >= 2)
      val client = connectThrough(numbers.client, place.exchange(), "numbers")
      val server = await(accepting)
      val count = 100000L
      val sending = spawn(send(client, count))
      eventually(place.broker.bytes > (44L << 10))
      Thread.sleep(100L)
      assert(!sending.isDone)
      // The window is 64 KiB, and the rest is the beginning of the session and heartbeats.
      assert(place.broker.bytes < (72L << 10), place.broker.bytes.toString)
      assertEquals(receive(server), (count, Why.Left: Why))
      assertEquals(await(sending), (count, Option.empty[Why]))
      listener.close()
    }
  }

  test("a message that is longer than those of the broker goes in parts") {
    at(6L) { place =>
      val listener = serving(place)
      val login = connectThrough(bank.client, place.exchange(), "bank")
      val bank.LoginResponse.Invalid(next) = login.login("x" * 300000, "wrong").recv(): @unchecked
      customer(next, 1)
      listener.close()
    }
  }

  test("sessions that wait without a thread") {
    at(7L) { place =>
      val listener = Listener.through(place.exchange(), "bank").start()
      val here = place.exchange()
      val set = PortSet[bank.Login, Int]()
      for (number <- 0 until 8) {
        val accepting = spawn(listener.accept(bank.server))
        eventually(place.broker.kinds(Packet.Gone).get >= 3)
        val client = spawn(customer(connectThrough(bank.client, here, "bank", ConnectOptions(timeout = Patience.seconds)), 3))
        set.add(await(accepting), number)
        assert(!client.isDone)
      }
      val served = (0 until 8).map { _ =>
        set.recv() match {
          case PortSet.Received(number, bank.Login.Login(_, _, next)) =>
            counter(next.ok())
            number
          case other => fail(other.toString)
        }
      }
      assertEquals(served.sorted.toList, (0 until 8).toList)
      listener.close()
    }
  }

  test("a group goes on while a server leaves it") {
    at(8L) { place =>
      val (first, second) = (serving(place), serving(place))
      val here = place.exchange()
      val leaving = spawn(first.drain(Patience.seconds))
      for (_ <- 1 to 20) customer(connectThrough(bank.client, here, "bank"), 2)
      assert(await(leaving))
      assert(second.drain(Patience.seconds))
    }
  }

  test("a first message that the broker loses is sent again; a broker that is away begins no session") {
    at(9L) { place =>
      val listener = serving(place)
      val here = place.exchange()
      place.broker.loses = 1000
      val connecting = spawn(connectThrough(bank.client, here, "bank", ConnectOptions(timeout = Patience.seconds)))
      eventually(place.broker.kinds(Packet.Open).get >= 2)
      place.broker.loses = 0
      customer(await(connecting), 1)
      place.broker.isAway = true
      val before = place.broker.kinds(Packet.Open).get
      val failed = intercept[ConnectFailed](connectThrough(bank.client, here, "bank", ConnectOptions(timeout = 50.millis)))
      assert(failed.getMessage.contains("interrupted"), failed.getMessage)
      assertEquals(place.broker.kinds(Packet.Open).get, before)
      listener.close()
    }
  }

  /** What goes to the handlers of threads for uncaught exceptions meanwhile. */
  private def uncaught(body: LinkedBlockingQueue[Throwable] => Unit): Unit = {
    val seen = new LinkedBlockingQueue[Throwable]
    val before = Thread.getDefaultUncaughtExceptionHandler
    Thread.setDefaultUncaughtExceptionHandler((_, thrown) => seen.add(thrown): Unit)
    try body(seen)
    finally Thread.setDefaultUncaughtExceptionHandler(before)
  }

  private def reported(seen: LinkedBlockingQueue[Throwable]): Unit = {
    val thrown = seen.poll(Patience, TimeUnit.SECONDS)
    assert(thrown != null && thrown.getMessage.contains("nats://unknown:0/bank gets no sessions any more"), String.valueOf(thrown))
  }

  test("a connection that is closed loses its sessions, and its listeners end") {
    uncaught { seen =>
      at(10L) { place =>
        val listener = Listener.through(place.exchange(), "bank").start()
        val here = place.exchange()
        val accepting = spawn(listener.accept(bank.server))
        eventually(place.broker.kinds(Packet.Gone).get >= 3)
        val client = connectThrough(bank.client, here, "bank")
        val server = await(accepting)
        place.broker.lose()
        assertEquals(why(server.recv()), Why.Lost: Why)
        assertEquals(why(client.login("holk", "1234").recv()), Why.Lost: Why)
        intercept[java.nio.channels.ClosedChannelException](listener.accept(bank.server)): Unit
        assert(intercept[ConnectFailed](connectThrough(bank.client, here, "bank")).getMessage.contains("closed"))
        reported(seen)
      }
    }
  }

  test("a listener that only serves reports that its connection is closed; one that is closed before does not") {
    uncaught { seen =>
      at(13L) { place =>
        val (first, second) = (serving(place), serving(place))
        first.close()
        place.broker.lose()
        reported(seen)
        second.close()
      }
      assert(seen.isEmpty, seen.toString)
    }
  }

  test("a missing permission is reported by both sides, with the subject") {
    at(11L) { place =>
      val here = place.exchange()
      val subject = Subjects.subject("bank", Fingerprint.of(bank.client.$protocol.fingerprint))
      place.broker.denied = Some("Permissions Violation for Subscription to \"" + subject + "\"")
      val listener = Listener.through(here, "bank").serve(bank.server)(_ => ())
      assert(intercept[java.io.IOException](listener.start()).getMessage.contains(subject))
      listener.close()
      place.broker.loses = 1000
      val denied = intercept[ConnectFailed](connectThrough(bank.client, here, "bank"))
      assert(denied.getMessage.contains(subject), denied.getMessage)
    }
  }

  test("a thread that is interrupted does not connect") {
    at(12L) { place =>
      val here = place.exchange()
      place.broker.loses = 1000
      val isInterrupted = new LinkedBlockingQueue[Boolean]
      val thread = new Thread(() =>
        try connectThrough(bank.client, here, "bank", ConnectOptions(timeout = Patience.seconds)): Unit
        catch { case _: InterruptedException => isInterrupted.add(true): Unit }
      )
      thread.start()
      eventually(place.broker.kinds(Packet.Open).get >= 1)
      thread.interrupt()
      assertEquals(isInterrupted.poll(Patience, TimeUnit.SECONDS), true)
    }
  }

  test("addresses of brokers, and a program without the module for NATS") {
    for (wrong <- List("nats://host:4222", "nats://host/bank", "nats://host:70000/bank", "nats://host:4222/a bank", "nats://host:4222/at.x"))
      intercept[AddressMalformed](Address(wrong)): Unit
    assert(intercept[AddressMalformed](Address("nats://me:secret@host:4222/bank")).getMessage.contains("credentials"))
    assertEquals(Address("nats://[::1]:4222/bank.of.x").toString, "Nats([::1]:4222,bank.of.x)")
  }
}
