package duologue

import _root_.protocols.bank
import duologue.protocols.stream
import scala.concurrent.Await
import scala.concurrent.duration._

/** Dialogues that have to end in time. */
final class TimeLimitSuite extends RuntimeSuite {

  private val long = 1.hour

  test("a dialogue that ends in time has its result, and its session stays open") {
    val (server, client) = bank.init()
    val response = within(client, long)(_.login("holk", "1234"))
    assert(response.nonEmpty)
    val answer = server.recv().next.ok()
    assert(response.exists(_.tryRecv().nonEmpty))
    abandon(answer)
  }

  test("a dialogue that waits for its peer too long ends, and the peer learns that its session is closed") {
    val (server, client) = bank.init()
    assertEquals(within(client, 20.millis)(_.login("holk", "1234").recv()), None)
    closed(server.recv().next.ok().recv())
    // A sender that waits for space, and a use after the time.
    val (reader, writer) = stream.init[Int]()
    @scala.annotation.tailrec
    def send(client: stream.client.Stream[Int]): Int = send(client.send(1))
    assertEquals(within(writer, 20.millis)(send(_)), None)
    abandon(reader)
    val (other, late) = stream.init[Int]()
    val outcome = within(late, Duration.Zero) { late =>
      while (!wasLeft(late)) Thread.`yield`()
      late.send(1)
    }
    assertEquals(outcome.map(_.toString), None)
    closed(other.recv())
  }

  test("other failures are thrown, and what the peer closes is not late") {
    val (server, client) = bank.init()
    abandon(server)
    closed(within(client, long)(_.login("holk", "1234")))
    val (_, other) = bank.init()
    val waiting = within(other, long)(_.login("holk", "1234"))
    used(within(other, long)(_.login("holk", "1234")))
    waiting.foreach(abandon(_))
  }

  test("a dialogue that throws or is interrupted closes its side") {
    val (server, client) = bank.init()
    intercept[ArithmeticException](within(client, long) { client =>
      client.login("holk", "1234"): Unit
      throw new ArithmeticException()
    }): Unit
    closed(server.recv().next.ok())
    val (waiting, other) = bank.init()
    val beside = new Beside(
      // `intercept` passes on what counts as fatal.
      try fail(Duologue.within(other, java.time.Duration.ofHours(1L), (other: bank.client.Login) => other.login("holk", "1234").recv()).toString)
      catch { case _: InterruptedException => () }
    )
    beside.asleep()
    beside.thread.interrupt()
    beside.join()
    closed(waiting.recv().next.ok())
  }

  test("a limit ends futures, too, unless it is closed before; an endpoint that was sent is not concerned") {
    val (server, client) = bank.init()
    val response = client.login("holk", "1234")
    val answer = response.recvAsync()
    val limit = abandonAfter(response, 1.milli)
    closed(Await.result(answer, 1.minute))
    limit.close()

    val (login, customer) = bank.init()
    val (receiver, sender) = stream.init[bank.client.Login]()
    abandonAfter(customer, 1.milli): Unit
    // Either the time is over when the endpoint is sent, or the limit does not concern it.
    val isSent =
      try {
        sender.send(customer): Unit
        true
      } catch { case _: EndpointUsed => false }
    if (isSent) receiver.recv() match {
      case stream.Stream.Send(moved, _) => abandon(moved.login("holk", "1234"))
      case other                        => fail(other.toString)
    }
    assertEquals(login.recvOrClosed().isRight, isSent)
    abandon(server)
  }

  test("a limit does not keep a forgotten session from being closed") {
    def begun(): stream.server.Stream[Int] = {
      val (server, client) = stream.init[Int]()
      abandonAfter(client, long): Unit
      server
    }
    val server = begun()
    var isOver = false
    collectUntil {
      if (!isOver)
        try assertEquals(server.tryRecv(), None)
        catch { case _: SessionClosed => isOver = true }
      isOver
    }
  }
}
