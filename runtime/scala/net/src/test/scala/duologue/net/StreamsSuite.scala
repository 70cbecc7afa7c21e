package duologue.net

import duologue.{SessionClosed, Why, abandon}
import java.nio.channels.SocketChannel
import protocols.bank

/** The bytes of hellos and of whole sessions, as `tests/wire/streams.txt` has them. */
final class StreamsSuite extends NetSuite {

  private lazy val data: Vector[String] = lines("streams.txt")

  private def fields(words: Array[String]): Map[String, String] =
    words.map(_.split("=", 2)).collect { case Array(key, value) => key -> value }.toMap

  private def shown(hello: Hello): Map[String, String] = Map(
    "fingerprint" -> hello.fingerprint.toString,
    "first" -> (if (hello.receivesFirst) "receives" else "sends"),
    "largest" -> hello.largest.toString,
    "seconds" -> hello.seconds.toString,
    "name" -> hello.name,
    "accepts" -> (if (hello.accepts.isEmpty) "-" else hello.accepts.mkString(",")),
    "token" -> hello.token.fold("-")(token => hex(token.toArray))
  )

  private def hello(bytes: Array[Byte]): Hello = {
    val (head, rest) = bytes.splitAt(Handshake.Head)
    assertEquals(Handshake.helloHead(head), Some(Right(rest.length)))
    Handshake.hello(head, rest)
  }

  private def answer(bytes: Array[Byte]): Answer = {
    val (head, rest) = bytes.splitAt(Handshake.Head)
    assertEquals(Handshake.answerHead(head), rest.length)
    Handshake.answer(head, rest)
  }

  test("hellos are read and written") {
    val hellos = data.filter(_.startsWith("hello ")).map(_.split(' '))
    assert(hellos.nonEmpty)
    hellos.foreach { words =>
      val read = hello(unhex(words(2)))
      assertEquals(shown(read), fields(words.drop(3)), words(1))
      assertEquals(hex(read.encode), words(2), words(1))
    }
  }

  test("answers are read and written") {
    val answers = data.filter(_.startsWith("answer ")).map(_.split(' '))
    assert(answers.nonEmpty)
    answers.foreach { words =>
      val read = answer(unhex(words(1)))
      val shown = read.session match {
        case Some(session) =>
          Map("fingerprint" -> session.fingerprint.toString, "largest" -> session.largest.toString, "seconds" -> session.seconds.toString)
        case None => Map("wait" -> read.waitMillis.toString)
      }
      assertEquals(shown + ("verdict" -> read.verdict.toString), fields(words.drop(2)))
      assertEquals(hex(read.encode), words(1))
    }
  }

  test("a listener answers anything but a hello of its protocol as every implementation does") {
    val listener = Listener(freshAddress()).serve(bank.server)(login => abandon(login)).start()
    val bad = data.filter(_.startsWith("bad ")).map(_.split(' '))
    assert(bad.nonEmpty)
    bad.foreach { words =>
      val socket = raw(listener.address)
      send(socket, unhex(words(1)))
      val head = receive(socket, Handshake.Head)
      if (words(2) == "close") assertEquals(hex(head), "-", words(1))
      else {
        val rest = receive(socket, Handshake.answerHead(head))
        assertEquals(Handshake.answer(head, rest).verdict.toString, words(2), words(1))
        assertEquals(hex(receive(socket, 1)), "-")
      }
      socket.close()
    }
    listener.close()
  }

  test("a session that breaks the format ends as in every implementation") {
    val listener = Listener(freshAddress())
    val broken = data.filter(_.startsWith("broken ")).map(_.split(' '))
    assert(broken.nonEmpty)
    broken.foreach { words =>
      val socket = raw(listener.address)
      send(socket, unhex(words(2)))
      assertEquals(whyOf(teller(listener.accept(bank.server))), Some(Why.Broken), words(1))
      assertEquals(hex(receive(socket, 1 << 16).takeRight(3)), "000301", words(1))
      socket.close()
    }
    listener.close()
  }

  /** The bytes of a session, in order: whether the connecting side sends them, and the bytes. */
  private def session(name: String): Vector[(Boolean, Array[Byte])] =
    data.dropWhile(_ != "session " + name).tail.takeWhile(_.nonEmpty).map { line =>
      val words = line.split(' ')
      (words(0) == ">", unhex(words(1)))
    }

  /** The program of the client in the session `whole`. */
  private def customer(login: bank.client.Login): Unit =
    login.login("holk", "wrong").recv() match {
      case bank.LoginResponse.Invalid(again) =>
        again.login("holk", "1234").recv() match {
          case bank.LoginResponse.Ok(connected) =>
            connected.deposit(100.0).withdrawal(30.0).recv() match {
              case bank.WithdrawalResponse.Money(amount, next) =>
                assertEquals(amount, 30.0)
                next.withdrawal(500.0).recv() match {
                  case bank.WithdrawalResponse.InsufficientFunds(next) => next.quit()
                  case other                                           => fail(other.toString)
                }
              case other => fail(other.toString)
            }
          case other => fail(other.toString)
        }
      case other => fail(other.toString)
    }

  private def teller(login: bank.server.Login): Unit = {
    val bank.Login.Login(_, password, next) = login.recv()
    if (password == "1234") counter(next.ok(), 0.0) else teller(next.invalid())
  }

  private def counter(connected: bank.server.Connected, balance: Double): Unit = connected.recv() match {
    case bank.Connected.Deposit(money, next) => counter(next, balance + money)
    case bank.Connected.Withdrawal(amount, next) =>
      if (amount <= balance) counter(next.money(amount), balance - amount) else counter(next.insufficientFunds(), balance)
    case bank.Connected.Quit => ()
  }

  test("a client says and understands the bytes of a whole session") {
    val address = freshAddress()
    val server = listening(address)
    val client = spawn(customer(connect(bank.client, address)))
    val socket = server.accept()
    session("whole").foreach { case (isClients, bytes) =>
      if (isClients) assertEquals(hex(receive(socket, bytes.length)), hex(bytes)) else send(socket, bytes)
    }
    await(client)
    assertEquals(hex(receive(socket, 1)), "-")
    socket.close()
    server.close()
  }

  test("a server says and understands the bytes of a whole session, also one byte at a time") {
    for (inPieces <- List(false, true)) {
      val listener = Listener(freshAddress())
      val server = spawn(teller(listener.accept(bank.server)))
      val socket = raw(listener.address)
      session("whole").foreach { case (isClients, bytes) =>
        if (!isClients) assertEquals(hex(receive(socket, bytes.length)), hex(bytes))
        else if (inPieces) bytes.foreach(byte => send(socket, Array(byte)))
        else send(socket, bytes)
      }
      await(server)
      assertEquals(hex(receive(socket, 1)), "-")
      listener.close()
    }
  }

  private def whyOf(session: => Unit): Option[Why] =
    try {
      session
      None
    } catch { case closed: SessionClosed => Some(closed.why) }

  test("a client that leaves says why, after what it has sent before") {
    val listener = Listener(freshAddress())
    val ended = data.filter(_.startsWith("ended ")).map(_.split(' '))
    assert(ended.nonEmpty)
    ended.foreach { words =>
      val server = spawn {
        val bank.Login.Login(_, _, answer) = listener.accept(bank.server).recv()
        whyOf(answer.ok().recv(): Unit)
      }
      val socket = raw(listener.address)
      send(socket, unhex(words(2)))
      assertEquals(await(server).map(_.toString.toLowerCase), Some(words(3)), words(1))
      socket.close()
    }
    listener.close()
  }

  /** Plays one side of the session up to `cut` bytes of its own, and then sends no more. */
  private def play(socket: SocketChannel, asClient: Boolean, cut: Int): Unit = {
    var left = cut
    session("whole").foreach { case (isClients, bytes) =>
      if (isClients == asClient && left > 0) {
        send(socket, bytes.take(left))
        left -= bytes.length
      } else if (isClients != asClient && left > 0) receive(socket, bytes.length): Unit
    }
    socket.shutdownOutput(): Unit
  }

  private def said(byClient: Boolean): Int = session("whole").collect { case (`byClient`, bytes) => bytes.length }.sum

  test("a server whose session is cut after any byte reports that it is lost") {
    val hello = session("whole").head._2
    val listener = Listener(freshAddress())
    for (cut <- hello.length until said(byClient = true)) {
      val server = spawn(whyOf(teller(listener.accept(bank.server))))
      val socket = raw(listener.address)
      play(socket, asClient = true, cut)
      assertEquals(await(server), Some(Why.Lost), "after " + cut.toString + " bytes")
      socket.close()
    }
    // A hello that is cut begins no session, and delays no other peer.
    for (cut <- 0 until hello.length) {
      val socket = raw(listener.address)
      send(socket, hello.take(cut))
      socket.close()
    }
    val server = spawn(whyOf(teller(listener.accept(bank.server))))
    val socket = raw(listener.address)
    play(socket, asClient = true, Int.MaxValue)
    assertEquals(await(server), None)
    listener.close()
  }

  test("a client whose session is cut after any byte reports that it is lost, or that there is none") {
    for (cut <- 0 until said(byClient = false)) {
      val address = freshAddress()
      val server = listening(address)
      val client = spawn {
        try whyOf(customer(connect(bank.client, address)))
        catch { case _: ConnectFailed => Some(Why.Lost) }
      }
      val socket = server.accept()
      play(socket, asClient = false, cut)
      assertEquals(await(client), Some(Why.Lost), "after " + cut.toString + " bytes")
      socket.close()
      server.close()
    }
  }
}
