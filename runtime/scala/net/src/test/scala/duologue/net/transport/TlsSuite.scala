package duologue.net

import duologue.{Role, SessionClosed, Why, abandon}
import java.io.IOException
import java.net.{InetAddress, ServerSocket, Socket}
import javax.net.ssl.{SSLContext, SSLSocket}
import protocols.{bank, numbers, payloads}
import scala.concurrent.duration.{DurationInt, DurationLong}

/** Sessions over TLS. */
final class TlsSuite extends BankSuite {
  // New keys after a megabyte instead of hundreds of gigabytes. JSSE reads this setting once, when it is first used.
  java.security.Security.setProperty("jdk.tls.keyLimits", "AES/GCM/NoPadding KeyUpdate 2^20, ChaCha20-Poly1305 KeyUpdate 2^20")

  private val certificates = Certificates.shared
  private lazy val ofServer: SSLContext = certificates.context("server")
  private lazy val ofClient: SSLContext = certificates.context("client")

  private val any = "tls://127.0.0.1:0"

  private def options(context: SSLContext = ofClient): ConnectOptions = ConnectOptions(tls = Some(context))

  private def serving(context: SSLContext = ofServer, limits: Limits = Limits()): Listener =
    Listener(any, limits, Some(context)).serve(bank.server)(serveBank(_)).start()

  private def port(listener: Listener): Int = listener.address.reverse.takeWhile(_ != ':').reverse.toInt

  /** A TLS connection without the library, over a plain one that can be closed without close_notify. */
  private def secured(plain: Socket, context: SSLContext, isClient: Boolean)(change: SSLSocket => Unit): SSLSocket = {
    plain.setSoTimeout(60000)
    context.getSocketFactory.createSocket(plain, "127.0.0.1", plain.getPort, true) match {
      case socket: SSLSocket =>
        socket.setUseClientMode(isClient)
        val parameters = socket.getSSLParameters
        parameters.setApplicationProtocols(Array("duologue/1"))
        socket.setSSLParameters(parameters)
        change(socket)
        socket.startHandshake()
        socket
      case other => fail(other.toString)
    }
  }

  private def local(port: Int): Socket = new Socket(InetAddress.getLoopbackAddress, port)

  private def failure(address: String, context: SSLContext = ofClient): String = {
    val failed = intercept[ConnectFailed](customer(connect(bank.client, address, options(context))))
    assert(failed.getMessage.startsWith("no session at " + address), failed.getMessage)
    failed.getMessage
  }

  private def assertSays(message: String, parts: String*): Unit = parts.foreach(part => assert(message.contains(part), message))

  test("a session over TLS, also by the name of the host") {
    val listener = serving()
    assertSays(listener.address, "tls://127.0.0.1:")
    customer(connect(bank.client, listener.address, options()), 1000)
    customer(connect(bank.client, "tls://localhost:" + port(listener).toString, options()))
    eventually(listener.size == 0)
    listener.close()
  }

  test("without certificates an address of TLS is an error that says what to pass") {
    assertSays(intercept[IllegalArgumentException](connect(bank.client, "tls://a:1")).getMessage, "`tls://a:1`", "`ConnectOptions(tls = Some(context))`")
    assertSays(intercept[IllegalArgumentException](Listener(any)).getMessage, "`Listener(address, tls = Some(context))`", "Tls.context")
    assertSays(intercept[AddressMalformed](connect(bank.client, "tls:a")).getMessage, "tls://HOST:PORT")
  }

  test("files without a certificate or a key are errors that name the file") {
    val (ca, chain, key) = (certificates.ca("right"), certificates.chain("server"), certificates.key("server"))
    def message(ca: java.nio.file.Path, chain: java.nio.file.Path, key: java.nio.file.Path): String =
      intercept[IllegalArgumentException](Tls.context(ca, chain, key)).getMessage
    assertSays(message(key, chain, key), key.toString, "certificate")
    assertSays(message(ca, chain, ca), ca.toString, "no private key")
    assertSays(message(ca, chain, certificates.key("client")), "client.key", "a different key")
    assertSays(message(ca, chain, certificates.key("elsewhere", "EC PRIVATE KEY")), "openssl pkcs8 -topk8 -nocrypt")
    intercept[IOException](Tls.context(ca.resolveSibling("none"), chain, key)): Unit
  }

  test("certificates that are not valid are refused, and the cause is named") {
    val listener = serving()
    assertSays(failure(listener.address, certificates.context("client", "wrong")), "not signed by an authority that this side trusts")
    assertSays(failure(listener.address, certificates.anonymous), "does not accept this side's certificate")
    assertSays(failure(listener.address, certificates.context("stranger")), "does not accept this side's certificate")
    assertSays(failure(listener.address, certificates.context("expired")), "does not accept this side's certificate")
    customer(connect(bank.client, listener.address, options()))
    listener.close()
    val expired = serving(certificates.context("expired"))
    assertSays(failure(expired.address), "has expired")
    expired.close()
    val elsewhere = serving(certificates.context("elsewhere"))
    assertSays(failure(elsewhere.address), "is not valid", "127.0.0.1")
    assertSays(failure("tls://localhost:" + port(elsewhere).toString), "is not valid", "localhost")
    val ofService = options().copy(service = Some("elsewhere.example"))
    customer(connect(bank.client, elsewhere.address, ofService))
    // The program that names the address must not choose that there is no TLS.
    assertSays(intercept[ConnectFailed](connect(bank.client, "tcp://127.0.0.1:1", ofService)).getMessage, "has no TLS")
    elsewhere.close()
    val stranger = serving(certificates.context("stranger"))
    assertSays(failure(stranger.address), "not signed by an authority that this side trusts")
    stranger.close()
  }

  test("other versions of TLS and other protocols over it are refused") {
    val listener = serving()
    def refused(change: SSLSocket => Unit): String =
      try {
        // In TLS 1.3 a client learns only when it reads that the server refuses it.
        val socket = secured(local(port(listener)), ofClient, isClient = true)(change)
        assertEquals(socket.getInputStream.read(), -1)
        "closed"
      } catch { case failed: IOException => failed.getMessage }
    assertSays(refused(_.setEnabledProtocols(Array("TLSv1.2"))), "protocol_version")
    def speak(protocols: String*)(socket: SSLSocket): Unit = {
      val parameters = socket.getSSLParameters
      parameters.setApplicationProtocols(protocols.toArray)
      socket.setSSLParameters(parameters)
    }
    assertSays(refused(speak("h2")), "no_application_protocol")
    assertEquals(refused(speak()), "closed")
    listener.close()

    val server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress)
    val address = "tls://127.0.0.1:" + server.getLocalPort.toString
    def serves(change: SSLSocket => Unit): String = {
      val serving = spawn {
        val plain = server.accept()
        try secured(plain, ofServer, isClient = false)(change).getInputStream.read(): Unit
        catch { case _: IOException => () }
        plain.close()
      }
      val message = failure(address)
      await(serving)
      message
    }
    assertSays(serves(_.setEnabledProtocols(Array("TLSv1.2"))), "protocol_version")
    assertSays(serves(speak()), "duologue/1", "ALPN")
    server.close()
  }

  test("a side with TLS and one without report the difference") {
    val listener = serving()
    val plain = intercept[ConnectFailed](connect(bank.client, "tcp://127.0.0.1:" + port(listener).toString))
    assertSays(plain.getMessage, "speaks TLS", "tls://HOST:PORT")
    listener.close()
    val open = Listener("tcp://127.0.0.1:0").serve(bank.server)(serveBank(_)).start()
    assertSays(failure("tls://127.0.0.1:" + port(open).toString), "during the TLS handshake", "may not listen for TLS")
    customer(connect(bank.client, open.address))
    open.close()
  }

  test("a peer that stalls in the TLS handshake delays no other peer, and is closed") {
    // Long enough for those that do not stall, even on a busy machine.
    val patient = options().copy(timeout = Patience.seconds)
    val listener = serving(limits = Limits(hello = 2.seconds))
    val stalled = (1 to 20).map(_ => local(port(listener)))
    // The beginning of a client's first record.
    stalled.drop(10).foreach(_.getOutputStream.write(Array[Byte](0x16, 3, 1, 2, 0, 1, 0, 1)))
    customer(connect(bank.client, listener.address, patient))
    stalled.foreach(socket => assert(socket.getInputStream.readAllBytes().length < 32))
    listener.close()
    val few = serving(limits = Limits(hello = 2.seconds, handshakes = 2))
    val others = (1 to 3).map(_ => local(port(few)))
    customer(connect(bank.client, few.address, patient))
    others.foreach(_.close())
    few.close()
    val silent = new ServerSocket(0, 8, InetAddress.getLoopbackAddress)
    val impatient = options().copy(timeout = 50.millis)
    val failed = intercept[ConnectFailed](connect(bank.client, "tls://127.0.0.1:" + silent.getLocalPort.toString, impatient))
    assertSays(failed.getMessage, "did not answer in time")
    silent.close()
  }

  test("a peer that keeps sending in the TLS handshake is closed as well") {
    val listener = serving(limits = Limits(hello = 2.seconds, handshakes = 1))
    val babbling = local(port(listener))
    // The warning that the user has canceled, which says nothing and is allowed at any time.
    val warnings = Array.fill(1000)(Array[Byte](0x15, 3, 3, 0, 2, 1, 90)).flatten
    intercept[IOException](while (true) babbling.getOutputStream.write(warnings)): Unit
    babbling.close()
    customer(connect(bank.client, listener.address, options().copy(timeout = Patience.seconds)))
    listener.close()
  }

  test("sessions of TLS are not resumed, so that certificates are checked each time") {
    val fresh = certificates.context("client")
    val listener = serving(certificates.context("server"))
    // A session that is resumed is as old as the first one.
    def begun(): Long = {
      val socket = secured(local(port(listener)), fresh, isClient = true)(_ => ())
      socket.getOutputStream.write(Array.fill[Byte](64)(0x7f))
      socket.getInputStream.readAllBytes(): Unit
      socket.close()
      Thread.sleep(20L)
      socket.getSession.getCreationTime
    }
    val first = begun()
    assertNotEquals(begun(), first)
    listener.close()
  }

  /** The bytes of a session, in order: whether the connecting side sends them, and the bytes. */
  private lazy val whole: Vector[(Boolean, Array[Byte])] =
    lines("streams.txt").dropWhile(_ != "session whole").tail.takeWhile(_.nonEmpty).map { line =>
      val words = line.split(' ')
      (words(0) == ">", unhex(words(1)))
    }

  test("the bytes over TLS are those of any stream, also in a record for each") {
    for (inPieces <- List(false, true)) {
      val listener = Listener(any, tls = Some(ofServer))
      val server = spawn {
        val bank.Login.Login(_, _, first) = listener.accept(bank.server).recv()
        val bank.Login.Login(_, _, second) = first.invalid().recv()
        second.ok().recv() match {
          case bank.Connected.Deposit(_, next) =>
            next.recv() match {
              case bank.Connected.Withdrawal(amount, next) =>
                next.money(amount).recv() match {
                  case bank.Connected.Withdrawal(_, next) => assertEquals(next.insufficientFunds().recv(), bank.Connected.Quit)
                  case other                              => fail(other.toString)
                }
              case other => fail(other.toString)
            }
          case other => fail(other.toString)
        }
      }
      val socket = secured(local(port(listener)), ofClient, isClient = true)(_ => ())
      whole.foreach { case (isClients, bytes) =>
        if (!isClients) assertEquals(hex(socket.getInputStream.readNBytes(bytes.length)), hex(bytes))
        else if (inPieces) bytes.foreach(byte => socket.getOutputStream.write(byte.toInt))
        else socket.getOutputStream.write(bytes)
      }
      await(server)
      // The end is a close_notify: without it this would be an error.
      assertEquals(socket.getInputStream.read(), -1)
      socket.close()
      listener.close()
    }
  }

  test("a stream that ends with close_notify or without it is lost, and says so") {
    val listener = Listener(any, tls = Some(ofServer))
    val hello = whole(0)._2
    for ((ends, detail) <- List[(SSLSocket => Unit, String)]((_.shutdownOutput(), "the connection ended"), (_ => (), "without close_notify"))) {
      val waiting = spawn(closed(listener.accept(bank.server).recv()))
      val plain = local(port(listener))
      val socket = secured(plain, ofClient, isClient = true)(_ => ())
      socket.getOutputStream.write(hello)
      socket.getInputStream.readNBytes(Handshake.Head + 26): Unit
      ends(socket)
      if (!plain.isOutputShutdown) plain.shutdownOutput()
      val told = await(waiting)
      assertEquals(told.why, Why.Lost: Why)
      assertSays(told.getMessage, detail)
      plain.close()
    }
    listener.close()
  }

  test("a connection that is cut anywhere is reported by each side that has begun the session") {
    val ended = new java.util.concurrent.LinkedBlockingQueue[Option[Why]]
    // The sides of sessions that had begun and were lost.
    val lost = new java.util.concurrent.ConcurrentLinkedQueue[String]
    val listener = Listener(any, Limits(hello = 2.seconds), Some(ofServer)).serve(bank.server) { login =>
      try {
        serveBank(login)
        ended.add(None): Unit
      } catch {
        case closed: SessionClosed =>
          ended.add(Some(closed.why)): Unit
          lost.add("server"): Unit
      }
    }.start()
    for (fromClient <- List(true, false)) {
      for (cut <- 0 until 4000 by 61) {
        val proxy = if (fromClient) new Proxy(port(listener), fromClient = cut) else new Proxy(port(listener), fromServer = cut)
        val place = (fromClient, cut).toString
        val client = spawn {
          try {
            customer(connect(bank.client, "tls://127.0.0.1:" + proxy.port.toString, options()))
            None
          } catch {
            case closed: SessionClosed =>
              lost.add("client"): Unit
              Some(closed.why)
            case _: ConnectFailed => Some(Why.Lost)
          }
        }
        val why = await(client)
        assert(why.forall(_ == Why.Lost), place)
        eventually(listener.size == 0)
        ended.forEach(why => assert(why.forall(_ == Why.Lost), place))
        ended.clear()
        await(proxy.done)
      }
      // Some of the positions are within the session.
      eventually(List("client", "server").forall(lost.contains(_)))
      lost.clear()
    }
    listener.close()
  }

  /** Both ends of a session over TLS. */
  private def secure(server: Role, client: Role): (server.$First, client.$First) = {
    val listener = Listener(any, tls = Some(ofServer))
    val both = meet(server, client, listener, options())
    listener.close()
    both
  }

  test("large messages pass in records, under changing keys") {
    val (server, client) = secure(payloads.server, payloads.client)
    val text = "text " * 200000
    val sending = spawn((1 to 10).foldLeft(client)((next, _) => next.str(text)))
    val last = (1 to 10).foldLeft(server) { (next, _) =>
      next.recv() match {
        case payloads.All.Str(read, next) =>
          assert(read == text)
          next
        case other => fail(other.toString)
      }
    }
    // The peer's new keys may arrive until here, and a connection that is closed then is reset.
    await(sending).over()
    assertEquals(last.recv(), payloads.All.Over)
  }

  test("spare buffers contain nothing that was decrypted") {
    val (listener, name) = (serving(), "plain text ")
    accepted(connect(bank.client, listener.address, options()).login(name * 500, "1234")).quit()
    val kept = (0 until Buffers.spare.length).flatMap(place => Option(Buffers.spare.get(place)))
    assert(kept.nonEmpty)
    kept.foreach(buffer => assert(!new String(buffer.array, "ISO-8859-1").contains(name)))
    assert(listener.drain(Patience.seconds))
  }

  test("a slow reader holds its sender up, and nothing is lost") {
    val (server, client) = secure(numbers.server, numbers.client)
    val count = 1000000L
    val (full, first) = filled(client, 1L)
    val sending = spawn((first to count).foldLeft(full)((next, number) => next.send(number)))
    val last = (1L to count).foldLeft(server) { (next, number) =>
      val numbers.Stream.Send(value, rest) = next.recv()
      assertEquals(value, number)
      rest
    }
    abandon(await(sending))
    assertEquals(why(last.recv()), Why.Left: Why)
  }

  test("sessions wait without a thread, also for what is decrypted already") {
    import scala.concurrent.{Await, ExecutionContext, Future}
    implicit val pool: ExecutionContext = ExecutionContext.global
    val (server, client) = secure(numbers.server, numbers.client)
    val count = 100000L
    val sending = spawn((1L to count).foldLeft(client)((next, number) => next.send(number)))
    def all(next: numbers.server.Stream, number: Long): Future[Unit] = next.recvAsync().flatMap { received =>
      assertEquals(received.value, number)
      if (number < count) all(received.next, number + 1L) else Future.successful(abandon(received.next))
    }
    Await.result(all(server, 1L), Patience.seconds)
    abandon(await(sending))
  }

  test("a session with heartbeats outlives silence, and a peer that is gone is lost") {
    val listener = Listener(any, Limits(heartbeat = Hour), Some(ofServer))
    val (server, client) = meet(bank.server, bank.client, listener, options().copy(heartbeat = Hour))
    for (_ <- 1 to 4) turn(hours = 2)
    val serving = spawn(serveBank(server))
    customer(client)
    await(serving)

    val socket = secured(local(port(listener)), ofClient, isClient = true)(_ => ())
    socket.getOutputStream.write(helloOf(bank.client, heartbeat = Hour))
    val silent = listener.accept(bank.server)
    turn(hours = 4)
    assertSays(closed(silent.recv()).getMessage, "heartbeat of 3600 s")
    socket.close()
    listener.close()
  }
}
