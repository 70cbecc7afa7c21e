package duologue.net

import duologue.{PortSet, SessionClosed, Why}
import scala.concurrent.duration.DurationLong
import timed.{visit => limited}
import untimed.{visit => free}

/** Time limits of states. They are not part of the fingerprint, so a peer whose version has none may take longer than the other
  * version waits.
  */
final class WithinSuite extends NetSuite {

  /** A session whose server has time limits. The client has none. */
  private def visit(): (limited.server.Choose, free.client.Choose) = pair(limited.server, free.client)

  /** A session in which the server waits for a message that has to come quickly. */
  private def hurried(): (limited.server.Quick, free.client.Quick) = {
    val (server, client) = visit()
    val next = client.hurry()
    val limited.Choose.Hurry(waiting) = server.recv(): @unchecked
    (waiting, next)
  }

  private def tooLate(client: free.client.Quick): Why = why(client.done().askQuickly().recv())

  test("a peer that does not send in time is late") {
    val (server, client) = hurried()
    assertEquals(why(server.recv()), Why.Late: Why)
    assertEquals(tooLate(client), Why.Late: Why)
  }

  test("a peer is late in a set and for a future") {
    val (server, client) = hurried()
    val set = PortSet[limited.Quick, Int]()
    set.add(server, 1)
    set.recv() match {
      case PortSet.Closed(value, left) => assertEquals((value, left.why), (1, Why.Late: Why))
      case other                         => fail(other.toString)
    }
    assertEquals(tooLate(client), Why.Late: Why)
    val (waiting, other) = hurried()
    val received = waiting.recvAsync()
    assertEquals(why(scala.concurrent.Await.result(received, Patience.seconds)), Why.Late: Why)
    assertEquals(tooLate(other), Why.Late: Why)
  }

  /** A server that waits for a message that has to come quickly, and the socket of its peer. */
  private def byHand(): (limited.server.Quick, java.nio.channels.SocketChannel) = {
    val listener = Listener(freshAddress())
    val server = spawn(listener.accept(limited.server))
    val socket = raw(listener.address)
    send(socket, helloOf(limited.client))
    val choose = await(server)
    receiveAnswer(socket)
    send(socket, Array[Byte](1))
    val limited.Choose.Hurry(waiting) = choose.recv(): @unchecked
    listener.close()
    (waiting, socket)
  }

  test("a peer is late for a program that does nothing") {
    val (waiting, socket) = byHand()
    assertEquals(hex(receive(socket, 3)), "000302")
    assertEquals(why(waiting.recv()), Why.Late: Why)
    socket.close()
  }

  test("a peer that sends without end, but no message, is late") {
    val (waiting, socket) = byHand()
    val alive = Array.tabulate[Byte](4096)(index => (index % 2).toByte)
    val flooding = spawn {
      try while (true) send(socket, alive)
      catch { case _: java.io.IOException => () }
    }
    assertEquals(why(waiting.recv()), Why.Late: Why)
    await(flooding)
    socket.close()
  }

  test("a peer that sends a message without end is late") {
    val (waiting, socket) = byHand()
    val dripping = spawn {
      // The beginning of a message of a mebibyte.
      send(socket, unhex("02808040fdff3f"))
      try
        while (true) {
          send(socket, Array[Byte](0))
          Thread.sleep(1L)
        }
      catch { case _: java.io.IOException => () }
    }
    assertEquals(why(waiting.recv()), Why.Late: Why)
    await(dripping)
    socket.close()
  }

  test("a sender that is late learns it without a wait") {
    val address = freshAddress()
    val server = listening(address)
    val connecting = spawn(connect(limited.client, address))
    val socket = server.accept()
    val length = Handshake.helloHead(receive(socket, Handshake.Head)) match {
      case Some(Right(length)) => length
      case other               => fail(other.toString)
    }
    receive(socket, length): Unit
    send(socket, answerOf(limited.server))
    val client = await(connecting).hurry()
    assertEquals(hex(receive(socket, 1)), "01")
    send(socket, Array[Byte](0, 3, 2))
    // The client reads this once its time has passed, and closes the connection.
    assertEquals(receive(socket, 1).length, 0)
    assertEquals(why(client.done()), Why.Late: Why)
    socket.close()
    server.close()
  }

  test("each message begins the time again, and a server may be late as well") {
    val (server, client) = pair(free.server, limited.client)
    val asking = client.askQuickly()
    val free.Choose.AskQuickly(answer) = server.recv(): @unchecked
    val rest = answer.hold()
    def last(waiting: limited.client.QuickAnswer): Why =
      try
        waiting.recv() match {
          case limited.QuickAnswer.Hold(next) => last(next)
          case other                          => fail(other.toString)
        }
      catch { case closed: SessionClosed => closed.why }
    assertEquals(last(asking), Why.Late: Why)
    assertEquals(why(rest.done().recv()), Why.Late: Why)
  }

  test("states without a limit, and with a long one, wait on") {
    val (resting, rest) = visit()
    val restNext = rest.rest()
    val limited.Choose.Rest(restWaits) = resting.recv(): @unchecked
    val (thinking, think) = visit()
    val thinkNext = think.think()
    val limited.Choose.Think(thinkWaits) = thinking.recv(): @unchecked
    val (late, _) = hurried()
    assertEquals(why(late.recv()), Why.Late: Why)
    // The others have waited longer.
    restNext.done().bye()
    val limited.Free.Done(one) = restWaits.recv(): @unchecked
    assertEquals(one.recv(), limited.Choose.Bye)
    thinkNext.done().bye()
    val limited.Slow.Done(other) = thinkWaits.recv(): @unchecked
    assertEquals(other.recv(), limited.Choose.Bye)
  }

  test("messages that wait for a slow program are in time") {
    val words = 20000
    val (server, client) = visit()
    var talking = client.talk()
    for (_ <- 1 to words) talking = talking.word()
    talking.done().bye()
    // A session in the same state, whose time begins later and passes.
    val (clock, other) = visit()
    val silent = other.talk()
    val limited.Choose.Talk(waits) = clock.recv(): @unchecked
    assertEquals(why(waits.recv()), Why.Late: Why)
    assertEquals(why(silent.done().askQuickly().recv()), Why.Late: Why)
    val limited.Choose.Talk(first) = server.recv(): @unchecked
    var listening = first
    for (_ <- 1 to words) {
      val limited.Talking.Word(next) = listening.recv(): @unchecked
      listening = next
    }
    val limited.Talking.Done(last) = listening.recv(): @unchecked
    assertEquals(last.recv(), limited.Choose.Bye)
  }
}
