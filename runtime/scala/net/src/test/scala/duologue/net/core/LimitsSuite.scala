package duologue.net

import duologue.{Bytes, PayloadRefused, Why}
import narrow.{journal => bounded}
import narrow.{narrowTypes => short}
import wide.{journal => free}
import wide.{wideTypes => long}

/** Limits of protocols. They are not part of the fingerprint, so a peer whose version has none can send what the other version
  * does not allow.
  */
final class LimitsSuite extends NetSuite {

  private def bytes(count: Int): Bytes = Bytes(Vector.fill(count)(1): _*)

  private def pages(count: Int, each: Int): Vector[Vector[Int]] = Vector.fill(count)(Vector.fill(each)(1))

  private def narrowServer(): (bounded.server.Open, free.client.Open) = pair(bounded.server, free.client)

  private def narrowClient(): (free.server.Open, bounded.client.Open) = pair(free.server, bounded.client)

  test("values at their limits travel") {
    val (server, client) = narrowServer()
    val waiting = client
      .append(long.Entry("12345678", Vector("1234", "\u20ac1")))
      // The count takes one of the four bytes.
      .attach(bytes(3))
      .name("12345", pages(11, 2))
      .lookUp((7, "12345"), Some("x" * 31))
    val bounded.Open.Append(entry, second) = server.recv(): @unchecked
    assertEquals(entry, short.Entry("12345678", Vector("1234", "\u20ac1")))
    val bounded.Open.Attach(content, third) = second.recv(): @unchecked
    assertEquals(content.length, 3)
    val bounded.Open.Name(_, found, fourth) = third.recv(): @unchecked
    assertEquals(found.length, 11)
    val bounded.Open.LookUp(key, text, answer) = fourth.recv(): @unchecked
    assertEquals((key, text.map(_.length)), ((7, "12345"), Some(31)))
    val last = answer.answered(short.Answer.Note(Some(bytes(3))))
    val free.Answered.Answered(_, next) = waiting.recv()
    next.close()
    assertEquals(last.recv(), bounded.Open.Close)
  }

  test("a reader refuses what is beyond a limit") {
    def isRefused(name: String)(send: free.client.Open => free.client.Open): Unit = {
      val (server, client) = narrowServer()
      val sent = send(client)
      assertEquals(why(server.recv()), Why.Broken, name)
      assertEquals(why(sent.lookUp((1, "k"), None).recv()), Why.Broken, name)
    }
    isRefused("field")(_.append(long.Entry("123456789", Vector())))
    isRefused("characters")(_.append(long.Entry("\u20ac\u20ac\u20ac", Vector())))
    isRefused("items")(_.append(long.Entry("", Vector("", "", ""))))
    isRefused("item")(_.append(long.Entry("", Vector("12345"))))
    isRefused("message")(_.attach(bytes(4)))
    isRefused("entry")(_.name("123456", Vector()))
    isRefused("inner")(_.name("", pages(1, 3)))
    isRefused("protocol")(_.name("12345", pages(17, 1)))
    val (server, client) = narrowServer()
    val waiting = client.lookUp((1, "123456"), None)
    assertEquals(why(server.recv()), Why.Broken)
    assertEquals(why(waiting.recv()), Why.Broken)
  }

  test("a message beyond its limit is refused before it has arrived") {
    val listener = Listener(freshAddress())
    val server = spawn(listener.accept(bounded.server))
    val socket = raw(listener.address)
    send(socket, helloOf(bounded.client, largest = 1L << 20))
    val open = await(server)
    receiveAnswer(socket)
    // The tag of `attach` and a size. None of its bytes follow.
    send(socket, Array[Byte](2, 5))
    assertEquals(why(open.recv()), Why.Broken)
    assertEquals(hex(receive(socket, 3)), "000301")
    socket.close()
    listener.close()
  }

  test("a writer does not send what is beyond a limit, and the session goes on") {
    val (server, client) = narrowClient()
    def isRefused(what: String)(send: => Any): Unit = {
      val refused = intercept[PayloadRefused](send)
      assert(refused.getMessage.contains(what), refused.getMessage)
    }
    isRefused("at least 9 bytes, and its limit is 8")(client.append(short.Entry("123456789", Vector())))
    isRefused("9 bytes, and its limit is 8")(client.append(short.Entry("\u20ac\u20ac\u20ac", Vector())))
    isRefused("3 items, and its limit is 2")(client.append(short.Entry("", Vector("", "", ""))))
    isRefused("at least 5 bytes, and its limit is 4")(client.append(short.Entry("", Vector("12345"))))
    isRefused("5 bytes, and its limit is 4")(client.attach(bytes(4)))
    isRefused("at least 6 bytes, and its limit is 5")(client.name("123456", Vector()))
    isRefused("3 items, and its limit is 2")(client.name("", pages(1, 3)))
    isRefused("41 bytes, and its limit is 40")(client.name("12345", pages(17, 1)))
    isRefused("at least 6 bytes, and its limit is 5")(client.lookUp((1, "123456"), None))
    val next = client.attach(bytes(3))
    val free.Open.Attach(content, rest) = server.recv(): @unchecked
    assertEquals(content.length, 3)
    next.close()
    assertEquals(rest.recv(), free.Open.Close)
  }

  test("an answer has limits too") {
    val (server, client) = narrowClient()
    val waiting = client.lookUp((1, "k"), None)
    val free.Open.LookUp(_, _, answer) = server.recv(): @unchecked
    val next = answer.answered(long.Answer.Note(Some(bytes(4))))
    assertEquals(why(waiting.recv()), Why.Broken)
    assertEquals(why(next.recv()), Why.Broken)
  }
}
