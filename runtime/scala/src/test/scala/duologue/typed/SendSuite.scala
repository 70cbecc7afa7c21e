package duologue

import _root_.protocols.bank
import duologue.protocols.stream
import java.util.concurrent.{Executor, RejectedExecutionException}
import scala.concurrent.{Await, ExecutionContext}
import scala.concurrent.duration._

/** Sending when there may be no space, and services. */
final class SendSuite extends RuntimeSuite {

  private implicit val parasitic: ExecutionContext = ExecutionContext.parasitic

  test("a callback about space, in the thread that receives, finds the endpoint used that freed it") {
    val (server, client) = stream.init[Int]()
    // A thread that uses a side many times in a row claims its uses in another way.
    var sending = client
    var receiving = server
    for (_ <- 1 to 100) {
      sending = sending.send(0)
      receiving = drained(receiving, 1)
    }
    val full = filled(sending)
    var answer = Option.empty[String]
    sendAsync(full) { next =>
      answer = Some(
        try receiving.tryRecv().toString
        catch { case _: EndpointUsed => "used" }
      )
      next.send(1)
    }: Unit
    while (answer.isEmpty) receiving = drained(receiving, 1)
    assertEquals(answer, Some("used"))
    abandon(receiving)
  }

  test("a send that would wait is refused, and the endpoint can be used again") {
    val (server, client) = stream.init[Int]()
    val full = filled(client)
    used(trySend(client)(_.send(1)))
    assertEquals(trySend(full)(_.send(1)).map(_.toString), None)
    assertEquals(sendWithin(full, 1.milli)(_.send(1)).map(_.toString), None)
    val rest = drained(server, 255)
    assertEquals(rest.tryRecv(), None)
    val next = trySend(full)(_.send(1))
    assert(next.nonEmpty)
    abandon(drained(rest, 1))
    closed(trySend(next.get)(_.send(2)))
  }

  test("a bounded protocol never refuses") {
    val (server, client) = bank.init()
    assert(trySend(client)(_.login("holk", "1234")).nonEmpty)
    assertEquals(server.recv().username, "holk")
  }

  test("a send waits for space up to a limit, and is woken by space and by a peer that closes") {
    for (leaves <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val full = filled(client)
      val beside = new Beside(
        if (leaves) closed(sendWithin(full, 1.minute)(_.send(1)))
        else assertEquals(sendWithin(full, 1.minute)(_.send(1)).size, 1)
      )
      beside.asleep()
      if (leaves) abandon(server) else drained(server, 255): Unit
      beside.join()
    }
  }

  test("a future sends when there is room") {
    val (server, client) = stream.init[Int]()
    val sent = sendAsync(filled(client))(_.send(1))
    assert(!sent.isCompleted)
    val rest = drained(server, 255)
    val next = Await.result(sent, Duration.Zero)
    assert(sendAsync(next)(_.send(2)).isCompleted)
    abandon(drained(rest, 2))
  }

  test("a service runs elsewhere, and leaves its session however it ends") {
    val beside = new ExecutionContext {
      def execute(task: Runnable): Unit = new Thread(() => try task.run() catch { case _: ArithmeticException => () }).start()
      def reportFailure(cause: Throwable): Unit = ()
    }
    for (fails <- List(true, false)) {
      val client = service(bank.init()) { server =>
        val answering = server.recv().next
        if (fails) throw new ArithmeticException(answering.toString)
      }(beside)
      closed(client.login("holk", "1234").recv())
    }
    val begun = serviceWith(bank.init())(server => abandon(server.recv().next.invalid()))(new Thread(_).start())
    begun.login("holk", "1234").recv() match {
      case bank.LoginResponse.Invalid(next) => closed(next.login("holk", "1234").recv())
      case bank.LoginResponse.Ok(_)         => fail("nobody logs in")
    }
    val (server, client) = bank.init()
    val refusing: Executor = _ => throw new RejectedExecutionException()
    intercept[RejectedExecutionException](service((server, client))(_ => ())(ExecutionContext.fromExecutor(refusing))): Unit
    closed(client.login("holk", "1234"))
  }
}
