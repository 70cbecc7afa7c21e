package duologue.net

import duologue.{Why, abandon}
import java.util.concurrent.ConcurrentLinkedQueue
import protocols.{bank, numbers, payloads}
import scala.jdk.CollectionConverters.IterableHasAsScala

/** What observers are called with, and when. */
final class ObserverSuite extends BankSuite {

  /** A line for each call. */
  private class Log extends Observer {
    private val lines = new ConcurrentLinkedQueue[String]
    val sessions = new ConcurrentLinkedQueue[Observer.Session]

    def all: List[String] = lines.asScala.toList

    private def note(session: Observer.Session, text: String): Unit = {
      assert(sessions.contains(session))
      lines.add(text): Unit
    }

    override def began(session: Observer.Session): Unit = {
      sessions.add(session): Unit
      val side = if (session.isAccepted) "accepted" else "connected"
      val first = if (session.sendsFirst) " first" else ""
      val other = if (session.peerIsOlder) " older" else if (session.fingerprint == session.peersFingerprint) "" else " other"
      note(session, "began " + session.protocol + " " + side + first + other)
    }

    override def turned(session: Observer.Session, run: Observer.Run): Unit =
      note(session, List(run.state, if (run.isSent) "sent" else "received", run.message, run.count.toString).mkString(" "))

    override def ended(session: Observer.Session, end: Observer.End): Unit =
      note(session, "ended " + end.why.toString + " in " + end.state.toString + ", " + end.sent.toString + ", " + end.received.toString)

    override def refused(refusal: Observer.Refusal): Unit = {
      val side = if (refusal.isAccepting) "accepting" else "connecting"
      lines.add(List("refused", side, refusal.protocol.toString, refusal.verdict.toString, refusal.cause).mkString(" ")): Unit
    }

    def expect(expected: String*): Unit = {
      eventually(all.size >= expected.size)
      assertEquals(all, expected.toList)
    }
  }

  private def observing(log: Observer): ConnectOptions = ConnectOptions(observer = Some(log))

  /** Both ends of a new session, and what their observers were called with. */
  private def pair(address: String, here: Observer, there: Observer): (bank.client.Login, bank.server.Login, Listener) = {
    val listener = Listener(address, observer = Some(there))
    val (server, client) = meet(bank.server, bank.client, listener, observing(here))
    (client, server, listener)
  }

  private def paid(connected: bank.client.Connected, server: bank.server.Connected): (bank.client.Connected, bank.server.Connected) = {
    val waiting = connected.withdrawal(1.0)
    val next = server.recv() match {
      case bank.Connected.Withdrawal(amount, next) => next.money(amount)
      case other                                   => fail(other.toString)
    }
    waiting.recv() match {
      case bank.WithdrawalResponse.Money(_, after) => (after, next)
      case other                                   => fail(other.toString)
    }
  }

  private def logIn(client: bank.client.Login, server: bank.server.Login): (bank.client.Connected, bank.server.Connected) = {
    val waiting = client.login("holk", "1234")
    val connected = teller(server)
    (accepted(waiting), connected)
  }

  test("observers of both sides see a session begin, turn and end, and count the same") {
    val (here, there) = (new Log, new Log)
    val (client, server, listener) = pair("tcp://127.0.0.1:0", here, there)
    val (connected, serving) = logIn(client, server)
    connected.deposit(1.0).deposit(2.0).quit()
    counter(serving)
    here.expect(
      "began bank connected first",
      "bank.login sent login 1 messages of 12 bytes",
      "bank.login_response received ok 1 messages of 1 bytes",
      "bank.connected sent quit 3 messages of 19 bytes",
      "ended Left in None, 4 messages of 31 bytes, 1 messages of 1 bytes"
    )
    there.expect(
      "began bank accepted",
      "bank.login received login 1 messages of 12 bytes",
      "bank.login_response sent ok 1 messages of 1 bytes",
      "bank.connected received quit 3 messages of 19 bytes",
      "ended Left in None, 1 messages of 1 bytes, 4 messages of 31 bytes"
    )
    assertEquals(here.sessions.peek.peer, Some(listener.address))
    assert(there.sessions.peek.peer.exists(_.startsWith("tcp://127.0.0.1:")))
    assertNotEquals(here.sessions.peek.id, there.sessions.peek.id)
    listener.close()
  }

  test("a session belongs to the trace of the connecting side") {
    val text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    val trace = TraceContext.parse(text)
    assertEquals(trace.map(_.toString), Some(text))
    assertEquals(trace.map(trace => (trace.traceId, trace.spanId, trace.flags)), Some(("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", 1)))
    assertEquals(trace.map(trace => hex(trace.bytes.toArray)), Some("4bf92f3577b34da6a3ce929d0e0e473600f067aa0ba902b701"))
    for (sent <- List(trace, None)) {
      val (here, there) = (new Log, new Log)
      val listener = Listener(freshAddress(), observer = Some(there))
      val (_, client) = meet(bank.server, bank.client, listener, observing(here).copy(trace = sent))
      assertEquals(List(here, there).map(_.sessions.peek.trace), List(sent, sent))
      abandon(client)
      listener.close()
    }
  }

  test("what is no `traceparent` of version 00 is not parsed") {
    val (traceId, spanId) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    val texts = List(
      "",
      s"01-$traceId-$spanId-01",
      s"00-${traceId.toUpperCase}-$spanId-01",
      s"00-$traceId-$spanId",
      s"00-$traceId-$spanId-1",
      s"00-$traceId-$spanId-01-",
      s"00-$traceId-${spanId}0-01",
      s"00-${"0" * 32}-$spanId-01",
      s"00-$traceId-${"0" * 16}-01"
    )
    texts.foreach(text => assertEquals(TraceContext.parse(text), None, text))
  }

  test("an observed session has one number, in texts and reports") {
    val (here, there) = (new Log, new Log)
    val (client, server, listener) = pair(freshAddress(), here, there)
    val waiting = client.login("holk", "1234")
    assertEquals(waiting.toString, "bank.login_response #" + here.sessions.peek.id.toString)
    assertEquals(server.toString, "bank.login #" + there.sessions.peek.id.toString)
    assertNotEquals(bank.init()._1.toString.stripPrefix("bank.login #"), there.sessions.peek.id.toString)
    abandon(waiting)
    listener.close()
  }

  test("a side that leaves early, and a connection that is cut") {
    val (here, there) = (new Log, new Log)
    val (client, server, listener) = pair(freshAddress(), here, there)
    val (connected, serving) = logIn(client, server)
    abandon(connected)
    assertEquals(why(serving.recv()), Why.Left: Why)
    val begins = List("bank.login %s login 1 messages of 12 bytes", "bank.login_response %s ok 1 messages of 1 bytes")
    def runs(first: String, second: String) = List(begins(0).format(first), begins(1).format(second))
    val ended = "ended Left in Some(bank.connected), 1 messages of %d bytes, 1 messages of %d bytes"
    here.expect("began bank connected first" :: runs("sent", "received") ::: List(ended.format(12, 1)): _*)
    there.expect("began bank accepted" :: runs("received", "sent") ::: List(ended.format(1, 12)): _*)
    assertEquals(there.sessions.peek.peer, None)
    listener.close()

    val cut = new Log
    val address = freshAddress()
    val peer = listening(address)
    val answer = spawn {
      val socket = peer.accept()
      receive(socket, Handshake.Head + 32): Unit
      send(socket, answerOf(bank.server))
      socket
    }
    val login = connect(bank.client, address, observing(cut))
    val waiting = login.login("holk", "1234")
    await(answer).close()
    assertEquals(why(waiting.recv()), Why.Lost: Why)
    cut.expect(
      "began bank connected first",
      "bank.login sent login 1 messages of 12 bytes",
      "ended Lost in Some(bank.login_response), 1 messages of 12 bytes, 0 messages of 0 bytes"
    )
    peer.close()
  }

  test("sessions that do not begin are reported by both sides") {
    val (here, there) = (new Log, new Log)
    val listener = Listener(freshAddress(), Limits(sessions = 1), observer = Some(there)).serve(bank.server)(_.recv(): Unit).start()
    val options = observing(here)
    val unknown = intercept[Refused](connect(numbers.client, listener.address, options))
    val kept = connect(bank.client, listener.address)
    val full = intercept[Refused](connect(bank.client, listener.address, options))
    val wrong = intercept[AddressMalformed](connect(bank.client, "udp://a:1", options))
    here.expect(
      "refused connecting Some(numbers) Some(16) " + unknown.getMessage,
      "refused connecting Some(bank) Some(18) " + full.getMessage,
      "refused connecting Some(bank) None " + wrong.getMessage
    )
    // The accepting side reports after it has answered, each connection in a thread of its own.
    eventually(there.all.count(_.startsWith("refused")) == 2)
    val silent = raw(listener.address)
    silent.close()
    eventually(there.all.count(_.startsWith("refused")) == 3)
    val alien = raw(listener.address)
    send(alien, "GET / HTTP/1.1\r\n\r\n".getBytes)
    receive(alien, 1): Unit
    alien.close()
    eventually(there.all.count(_.startsWith("refused")) == 4)
    assertEquals(
      there.all.filter(_.startsWith("refused")).toSet,
      Set(
        "refused accepting Some(numbers) Some(16) this side has refused the session: the protocol is not served",
        "refused accepting Some(bank) Some(18) this side has refused the session: it has reached its session limit",
        "refused accepting None None the peer has closed the connection",
        "refused accepting None None the other side has sent no hello"
      )
    )
    abandon(kept)
    listener.close()
    val gone = intercept[ConnectFailed](connect(bank.client, listener.address, options))
    assertEquals(here.all.last, "refused connecting Some(bank) None " + gone.getMessage)
  }

  test("an older version of the peer is reported") {
    val (here, there) = (new Log, new Log)
    val older = Fingerprint.of(numbers.client.$protocol.fingerprint)
    val listener = Listener(freshAddress(), observer = Some(there)).serve(payloads.server, accepts = Seq(older))(abandon(_)).start()
    abandon(connect(numbers.client, listener.address, observing(here)))
    eventually(there.all.size == 2)
    assertEquals(there.all.head, "began payloads accepted older")
    assertEquals(here.all.head, "began numbers connected first other")
    listener.close()
  }

  test("exceptions of an observer go to the thread's handler, and do not affect the session") {
    val wrong = new Observer {
      override def began(session: Observer.Session): Unit = throw new IllegalStateException("began")
      override def turned(session: Observer.Session, run: Observer.Run): Unit = throw new IllegalStateException(run.state)
      override def ended(session: Observer.Session, end: Observer.End): Unit = throw new IllegalStateException("ended")
      override def refused(refusal: Observer.Refusal): Unit = throw new IllegalStateException("refused")
    }
    val reported = new ConcurrentLinkedQueue[String]
    val thread = Thread.currentThread
    val before = thread.getUncaughtExceptionHandler
    val log = new Log
    thread.setUncaughtExceptionHandler((_, thrown) => reported.add(thrown.getMessage): Unit)
    try {
      val (client, server, listener) = pair(freshAddress(), wrong, log)
      val (connected, serving) = logIn(client, server)
      connected.quit()
      assertEquals(serving.recv(): bank.Connected, bank.Connected.Quit: bank.Connected)
      listener.close()
      intercept[ConnectFailed](connect(bank.client, listener.address, observing(wrong))): Unit
    } finally thread.setUncaughtExceptionHandler(before)
    assertEquals(reported.asScala.toList, List("began", "bank.login", "bank.login_response", "bank.connected", "ended", "refused"))
    log.expect(
      "began bank accepted",
      "bank.login received login 1 messages of 12 bytes",
      "bank.login_response sent ok 1 messages of 1 bytes",
      "bank.connected received quit 1 messages of 1 bytes",
      "ended Left in None, 1 messages of 1 bytes, 2 messages of 13 bytes"
    )
  }

  test("an observer may use other sessions, and has them observed") {
    val audit = new Log
    val listener = Listener(freshAddress()).serve(numbers.server)(_.recv(): Unit).start()
    val nested = new Log {
      override def turned(session: Observer.Session, run: Observer.Run): Unit = {
        abandon(connect(numbers.client, listener.address, observing(audit)).send(run.count.messages))
        super.turned(session, run)
      }
    }
    val more = new Log
    val (client, server, own) = pair(freshAddress(), nested, nested.and(more))
    val (connected, serving) = logIn(client, server)
    val (last, accepted) = paid(connected, serving)
    last.quit()
    assertEquals(accepted.recv(): bank.Connected, bank.Connected.Quit: bank.Connected)
    assertEquals(nested.all.size, 14)
    assertEquals(more.all.size, 7)
    assertEquals(audit.all.count(_.startsWith("began")), 10)
    eventually(audit.all.count(_ == "ended Left in Some(numbers.Stream), 1 messages of 9 bytes, 0 messages of 0 bytes") == 10)
    own.close()
    listener.close()
  }

  test("a slow observer holds up little, and the end is reported") {
    import scala.concurrent.duration.Duration
    val calls = new ConcurrentLinkedQueue[String]
    @volatile var resumed = 0
    val observer = new Observer {
      override def turned(session: Observer.Session, run: Observer.Run): Unit = calls.add(run.message): Unit
      override def ended(session: Observer.Session, end: Observer.End): Unit = {
        assert(end.duration >= Duration.Zero)
        calls.add("ended"): Unit
      }
    }
    val seen = Reports.Seen(None, Fingerprint.of(bank.client.$protocol.fingerprint), isOlder = false, trace = None)
    val reports = Reports(observer, bank.client, isAccepting = false, seen, () => resumed += 1)
    val state = bank.client.$protocol.state(0)
    for (_ <- 1 to 2000) reports.message(state, 0, isSent = true, 1L, isTurn = true)
    reports.report()
    assertEquals(calls.size, 64)
    assertEquals(resumed, 1)
    reports.ended(0, null, null)
    reports.report()
    assertEquals(calls.asScala.toList, List.fill(1024)("login") :+ "ended")
    reports.report()
    assertEquals(resumed, 1)
  }
}
