package duologue.net

import duologue.abandon
import protocols.bank

/** The bytes of hellos and their answers, as `tests/wire/streams.txt` has them. */
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

  test("a client whose connection is cut in the answer has no session") {
    val answered = answerOf(bank.server)
    for (cut <- answered.indices) {
      val address = freshAddress()
      val server = listening(address)
      val client = spawn(intercept[ConnectFailed](connect(bank.client, address)): Unit)
      val socket = server.accept()
      receive(socket, helloOf(bank.client).length): Unit
      send(socket, answered.take(cut))
      socket.close()
      await(client)
      server.close()
    }
  }
}
