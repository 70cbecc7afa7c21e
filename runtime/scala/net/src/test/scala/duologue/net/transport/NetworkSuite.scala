package duologue.net

import duologue.{PayloadRefused, PortSet, Select, SharedSender, Why, abandon, abandonAfter, flush, within}
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue, TimeUnit}
import protocols.{bank, numbers, payloads}
import scala.annotation.tailrec
import scala.concurrent.duration.{DurationInt, DurationLong}
import versions.{first, second, talkative}

/** Sessions over sockets, from a connection to its end. */
final class NetworkSuite extends BankSuite {

  private def serving(address: String, limits: Limits = Limits()): Listener =
    Listener(address, limits).serve(bank.server)(serveBank(_)).start()

  test("a session over a Unix socket, and over TCP with IPv4 and IPv6") {
    for (address <- List(freshAddress(), "tcp://127.0.0.1:0", "tcp://[::1]:0")) {
      val listener = serving(address)
      if (address.endsWith(":0")) assert(!listener.address.endsWith(":0"), listener.address)
      var connected = logIn(connect(bank.client, listener.address))
      for (amount <- 1 to 1000) connected = withdraw(connected, amount.toDouble)
      connected.deposit(1.0).deposit(2.0).quit()
      eventually(listener.size == 0)
      listener.close()
    }
  }

  test("several protocols on one listener, and either side may connect") {
    val received = new java.util.concurrent.LinkedBlockingQueue[Long]
    val listener = Listener(freshAddress())
      .serve(bank.server)(serveBank(_))
      .serve(numbers.server) { stream =>
        @tailrec def all(stream: numbers.server.Stream): Unit = {
          val numbers.Stream.Send(number, next) = stream.recv()
          received.add(number)
          all(next)
        }
        all(stream)
      }
      .start()
    var stream = connect(numbers.client, listener.address)
    for (number <- 1L to 100000L) stream = stream.send(number)
    abandon(stream)
    for (number <- 1L to 100000L) assertEquals(received.poll(Patience, TimeUnit.SECONDS), number)
    logIn(connect(bank.client, listener.address)).quit()
    listener.close()

    val turned = Listener(freshAddress()).serve(bank.client)(login => withdraw(logIn(login), 5.0).quit()).start()
    serveBank(connect(bank.server, turned.address))
    turned.close()
  }

  test("a dialogue that takes too long closes its session, and the peer learns of it") {
    val (server, client) = pair(bank.server, bank.client)
    val outcome = within(client, 20.millis)(_.login("holk", "1234").recv())
    assertEquals(outcome.map(_.toString), None)
    assert(closed(serveBank(server)).isByPeer)

    val other = serving(freshAddress())
    val connected = within(connect(bank.client, other.address), 1.hour)(logIn(_))
    withdraw(connected.get, 5.0).quit()
    eventually(other.size == 0)
    other.close()
  }

  test("a session is closed after a time unless its limit is closed before") {
    val (server, client) = pair(bank.server, bank.client)
    val limit = abandonAfter(client, 1.milli)
    assertEquals(why(server.recv()), Why.Left: Why)
    limit.close()

    val (waiting, sending) = pair(bank.server, bank.client)
    abandonAfter(sending, 1.hour).close()
    abandonAfter(waiting, 1.hour).close()
    val talking = spawn(logIn(sending).quit())
    serveBank(waiting)
    await(talking)
  }

  test("what is refused says why and what to do") {
    val listener = serving(freshAddress(), Limits(sessions = 1))
    assertEquals(intercept[Refused](connect(numbers.client, listener.address)).verdict, 16)
    val same = intercept[Refused](connect(bank.server, listener.address))
    assertEquals(same.verdict, 22)
    assert(same.getMessage.contains("one must be the client"), same.getMessage)
    val client = connect(bank.client, listener.address)
    assertEquals(intercept[Refused](connect(bank.client, listener.address)).verdict, 18)
    logIn(client).quit()
    eventually(listener.size == 0)
    logIn(connect(bank.client, listener.address)).quit()
    listener.close()
    assert(intercept[ConnectFailed](connect(bank.client, listener.address)).getMessage.startsWith("no session at unix:"))
    assert(intercept[AddressMalformed](connect(bank.client, "amqp://a:1")).getMessage.contains("none of unix:, tcp:// and tls://"))
    intercept[AddressMalformed](connect(bank.client, "tcp://a:70000")): Unit
  }

  test("older versions are accepted by either side, and by the side that says so") {
    val older = numbers.client.$protocol
    val fingerprint = Fingerprint.of(older.fingerprint)
    val listener = Listener(freshAddress()).serve(payloads.server, accepts = Seq(fingerprint))(abandon(_)).start()
    abandon(connect(numbers.client, listener.address))
    val inList = ConnectOptions(accepts = Seq(Fingerprint.of(payloads.client.$protocol.fingerprint)))
    listener.close()
    val other = Listener(freshAddress()).serve(payloads.server)(abandon(_)).start()
    assertEquals(intercept[Refused](connect(numbers.client, other.address)).verdict, 16)
    abandon(connect(numbers.client, other.address, inList))
    other.close()
  }

  test("a protocol file says which older versions a side accepts") {
    val listener = Listener(freshAddress())
    val session = spawn {
      listener.accept(second.server).recv() match {
        case second.Asking.Ask(text, answering) => answering.answer(text + " now").recv()
        case other                              => fail(other.toString)
      }
    }
    val first.Answering.Answer(text, asking) = connect(first.client, listener.address).ask("when?").recv()
    assertEquals(text, "when? now")
    asking.leave()
    assertEquals(await(session), second.Asking.Leave: second.Asking)
    listener.close()
    val older = Listener(freshAddress()).serve(first.server)(abandon(_)).start()
    abandon(connect(talkative.client, older.address))
    assertEquals(intercept[Refused](connect(second.client, older.address)).verdict, 16)
    val others = Seq.tabulate(16)(at => Fingerprint(f"$at%032x"))
    abandon(connect(talkative.client, older.address, ConnectOptions(accepts = others.take(15))))
    assertEquals(intercept[Refused](connect(talkative.client, older.address, ConnectOptions(accepts = others))).verdict, 16)
    older.close()
  }

  test("a listener that nobody closed is replaced; one that listens and other files are not") {
    val address = freshAddress()
    val path = Path.of(address.stripPrefix("unix:"))
    val stale = listening(address)
    intercept[java.io.IOException](Listener(address)): Unit
    stale.close()
    assert(Files.exists(path))
    val listener = serving(address)
    logIn(connect(bank.client, address)).quit()
    intercept[java.io.IOException](Listener(address)): Unit
    listener.close()
    assert(!Files.exists(path))
    Files.writeString(path, "mine"): Unit
    intercept[java.io.IOException](Listener(address)): Unit
    assertEquals(Files.readString(path), "mine")
  }

  test("a peer that stalls in its hello delays no other peer, and is closed") {
    val listener = serving(freshAddress(), Limits(hello = 300.millis))
    val stalled = (1 to 20).map(_ => raw(listener.address))
    // The others send nothing at all.
    stalled.drop(10).foreach(send(_, Handshake.Magic))
    logIn(connect(bank.client, listener.address)).quit()
    stalled.foreach(socket => assertEquals(receive(socket, 1).length, 0))
    listener.close()
  }

  test("a listener that does not answer is given up") {
    val address = freshAddress()
    val silent = listening(address)
    val failed = intercept[ConnectFailed](connect(bank.client, address, ConnectOptions(timeout = 50.millis)))
    assert(failed.getMessage.contains("did not answer in time"), failed.getMessage)
    silent.close()
  }

  test("a peer learns at once that a side left, after everything it sent") {
    val (server, client) = pair(bank.server, bank.client)
    val waiting = spawn(teller(server).recv() match {
      case bank.Connected.Deposit(money, next) => (money, why(next.recv()))
      case other                               => fail(other.toString)
    })
    abandon(logIn(client).deposit(1.0))
    assertEquals(await(waiting), (1.0, Why.Left: Why))

    val (second, first) = pair(bank.server, bank.client)
    val told = spawn(closed(second.recv()))
    abandon(first)
    assertEquals(await(told).why, Why.Left: Why)
    assert(await(told).isByPeer)
  }

  test("a message that is too large for the peer is an error of the sender, and the session goes on") {
    val (server, client) = pair(bank.server, bank.client, Limits(largest = 1024L))
    val refused = intercept[PayloadRefused](client.login("x" * 2000, "1234"))
    assert(refused.getMessage.contains("at most 1024"), refused.getMessage)
    val serving = spawn(serveBank(server))
    logIn(client).quit()
    await(serving)
  }

  test("waits with a time limit end, and an interrupt ends a wait and nothing else") {
    val (server, client) = pair(bank.server, bank.client)
    assertEquals(server.tryRecv(), None)
    assertEquals(server.recvWithin(20.millis), None)
    val waiting = spawn {
      // `intercept` passes on what counts as fatal.
      try {
        server.recv(): Unit
        false
      } catch { case _: InterruptedException => true }
    }
    waiting.waits()
    waiting.interrupt()
    assert(await(waiting))
    val next = client.login("holk", "1234")
    val connected = server.recvWithin(Patience.seconds).getOrElse(fail("nothing came")).next.ok()
    accepted(next).quit()
    counter(connected)
  }

  test("a side that is abandoned while a thread waits on it ends the wait") {
    val (server, client) = pair(bank.server, bank.client)
    val waiting = spawn(closed(server.recv()))
    waiting.waits()
    abandon(server)
    assert(!await(waiting).isByPeer)
    assertEquals(why(client.login("holk", "1234").recv()), Why.Left: Why)
  }

  test("sessions wait in selects, futures, port sets and callbacks") {
    val pairs = (1 to 10).map(_ => pair(bank.server, bank.client))
    val futures = pairs.take(3).map(_._1.recvAsync().map(_.username)(scala.concurrent.ExecutionContext.global))
    val selecting = spawn(Select.from(pairs.slice(3, 6).map(_._1.on(_.username))).recv())
    val set = PortSet[bank.Login.Login, Int]()
    pairs.zipWithIndex.drop(6).foreach { case ((server, _), index) => set.add(server, index) }
    val collecting = spawn((6 until 10).map(_ => set.recv().value).toSet)
    selecting.waits()
    collecting.waits()
    val sent = pairs.zipWithIndex.collect { case ((_, client), index) if index != 3 && index != 5 => client.login(index.toString, "") }
    futures.zipWithIndex.foreach { case (future, index) =>
      assertEquals(scala.concurrent.Await.result(future, Patience.seconds), index.toString)
    }
    assertEquals(await(selecting), "4")
    assertEquals(await(collecting), (6 until 10).toSet)
    sent.foreach(abandon)
  }

  test("messages of a run are written when the program asks for it, and soon in any case") {
    val (server, client) = pair(numbers.server, numbers.client)
    val next = client.send(1L)
    flush(next)
    val numbers.Stream.Send(one, first) = server.recv()
    assertEquals(one, 1L)
    val last = next.send(2L)
    assertEquals(first.recv().value, 2L)
    abandon(last)
  }

  test("a slow reader holds its sender up, and nothing is lost") {
    val (server, client) = pair(numbers.server, numbers.client)
    val sender = SharedSender(client)
    val count = 300000L
    var sent = 0L
    while (sender.trySend(_.send(sent + 1L))) sent += 1L
    val sending = spawn {
      for (number <- sent + 1L to count) sender.send(_.send(number))
      sender.close()
    }
    var receiver = server
    for (number <- 1L to count) {
      val numbers.Stream.Send(value, next) = receiver.recv()
      assertEquals(value, number)
      receiver = next
    }
    assertEquals(why(receiver.recv()), Why.Left: Why)
    await(sending)
  }

  test("draining refuses new sessions and waits for the open ones") {
    val listener = serving(freshAddress())
    val client = logIn(connect(bank.client, listener.address))
    assertEquals(listener.load.toString, "Load(1, false, false)")
    val draining = spawn(listener.drain(Patience.seconds))
    var refused: Option[Int] = None
    eventually {
      refused = try {
        abandon(connect(bank.client, listener.address))
        None
      } catch { case refused: Refused => Some(refused.verdict) }
      refused.nonEmpty
    }
    assertEquals(refused, Some(20))
    assert(listener.load.isDraining)
    withdraw(client, 3.0).quit()
    assert(await(draining))
  }

  test("a handler of a listener ends its side, however it ends") {
    val before = Thread.getDefaultUncaughtExceptionHandler
    val thrown = new LinkedBlockingQueue[Throwable]
    Thread.setDefaultUncaughtExceptionHandler((_, failure) => thrown.add(failure): Unit)
    try {
      val listener = Listener(freshAddress()).serve(bank.server) { login =>
        val bank.Login.Login(name, _, _) = login.recv()
        name match {
          case "returns"     => ()
          case "throws"      => throw new ArithmeticException(name)
          case "interrupted" =>
            Thread.currentThread.interrupt()
            new CountDownLatch(1).await()
          case other         => fail(other)
        }
      }.start()
      for (name <- List("returns", "throws", "interrupted"))
        assertEquals(why(connect(bank.client, listener.address).login(name, "").recv()), Why.Left: Why)
      assertEquals(thrown.poll(Patience, TimeUnit.SECONDS).getMessage, "throws")
      assert(thrown.poll(Patience, TimeUnit.SECONDS).isInstanceOf[InterruptedException])
      assert(listener.drain(Patience.seconds))
    } finally Thread.setDefaultUncaughtExceptionHandler(before)
  }

  test("a session that a thread waits for takes one descriptor") {
    val descriptors = Path.of("/proc/self/fd")
    assume(Files.exists(descriptors))
    def count(): Long = {
      val all = Files.list(descriptors)
      try all.count()
      finally all.close()
    }
    val listener = Listener(freshAddress())
    val before = count()
    val pairs = Vector.fill(100) {
      val (receiver, client) = meet(bank.server, bank.client, listener)
      val waiting = spawn(why(receiver.recv()))
      waiting.waits()
      (client, waiting)
    }
    // Both sides are in this process, and some threads have a selector.
    val more = count() - before
    assert(more < 200L + 2L * Selecting.Most + 16L, more.toString)
    for ((client, waiting) <- pairs) {
      abandon(client)
      assertEquals(await(waiting), Why.Left: Why)
    }
    listener.close()
  }

  test("an endpoint that is forgotten closes its session") {
    val listener = Listener(freshAddress())
    def forget(): Unit = connect(bank.client, listener.address).login("holk", "1234"): Unit
    val server = spawn(listener.accept(bank.server))
    forget()
    val answered = await(server).recv().next.ok()
    val told = spawn(why(answered.recv()))
    eventually {
      System.gc()
      told.isDone
    }
    assertEquals(await(told), Why.Left: Why)
    listener.close()
  }

  test("many sessions at once") {
    val listener = serving(freshAddress())
    val start = new CountDownLatch(1)
    val clients = (1 to 50).map { _ =>
      spawn {
        start.await()
        var connected = logIn(connect(bank.client, listener.address))
        for (amount <- 1 to 200) connected = withdraw(connected, amount.toDouble)
        connected.quit()
      }
    }
    start.countDown()
    clients.foreach(await(_))
    eventually(listener.size == 0)
    listener.close()
  }
}
