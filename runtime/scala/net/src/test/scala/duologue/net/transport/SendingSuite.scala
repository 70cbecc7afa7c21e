package duologue.net

import duologue.{EndpointUsed, SessionClosed, Why, abandon, sendAsync, sendOrClosed, sendWithin, trySend}
import java.nio.ByteBuffer
import java.nio.channels.{Pipe, SelectionKey, Selector}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CompletableFuture, TimeUnit}
import protocols.numbers
import scala.annotation.tailrec
import scala.concurrent.{Await, ExecutionContext}
import scala.concurrent.duration.{DurationInt, DurationLong}

/** Each way to send over sockets, while the peer reads, does not read, and has left. */
final class SendingSuite extends NetSuite {
  private type Client = numbers.client.Stream
  private type Server = numbers.server.Stream

  private implicit val parasitic: ExecutionContext = ExecutionContext.parasitic

  private def begun(): (Server, Client) = pair(numbers.server, numbers.client)

  /** Sends a number once there is space. */
  @tailrec
  private def later(full: Client, number: Long): Client = trySend(full)(_.send(number)) match {
    case Some(next) => next
    case None =>
      Thread.sleep(1L)
      later(full, number)
  }

  /** Receives the numbers from `first` until before `end`. */
  @tailrec
  private def read(server: Server, first: Long, end: Long): Server =
    if (first == end) server
    else {
      val numbers.Stream.Send(number, next) = server.recv()
      assertEquals(number, first)
      read(next, first + 1L, end)
    }

  /** Sends until the session is closed; a message or two may be sent before this side learns of it. */
  @tailrec
  private def untilClosed(client: Client): SessionClosed = sendOrClosed(client)(_.send(0L)) match {
    case Right(next)  => untilClosed(next)
    case Left(closed) => closed
  }

  test("a send arrives, and fails once the peer has left") {
    val (server, client) = begun()
    val next = client.send(0L).send(1L)
    duologue.flush(next)
    abandon(read(server, 0L, 2L))
    assertEquals(untilClosed(next).why, Why.Left: Why)
    intercept[EndpointUsed](client.send(2L)): Unit
  }

  test("a send that would wait is refused, and the endpoint can be used again") {
    val (server, client) = begun()
    val (full, first) = filled(client, 0L)
    assert(first > 1000L, first.toString)
    assertEquals(trySend(full)(_.send(first)).map(_.toString), None)
    assertEquals(sendWithin(full, 1.milli)(_.send(first)).map(_.toString), None)
    val reading = spawn(read(server, 0L, first + 1L))
    val next = later(full, first)
    duologue.flush(next)
    abandon(await(reading))
    assertEquals(untilClosed(next).why, Why.Left: Why)
  }

  test("a send waits for space up to a limit, and is woken by space and by a peer that leaves") {
    for (leaves <- List(false, true)) {
      val (server, client) = begun()
      val (full, first) = filled(client, 0L)
      val sending = spawn {
        if (leaves) assertEquals(why(sendWithin(full, Patience.seconds)(untilClosedAt(_))), Why.Left: Why)
        else {
          val next = sendWithin(full, Patience.seconds)(_.send(first))
          assert(next.nonEmpty)
          next.foreach(duologue.flush(_))
        }
      }
      sending.waits()
      if (leaves) abandon(server) else abandon(read(server, 0L, first + 1L))
      await(sending)
    }
  }

  private def untilClosedAt(client: Client): Nothing = throw untilClosed(client)

  test("a future sends when there is space, and fails when the peer leaves") {
    val (server, client) = begun()
    val (full, first) = filled(client, 0L)
    val sent = sendAsync(full)(_.send(first))
    assert(!sent.isCompleted)
    val rest = read(server, 0L, first)
    val next = Await.result(sent, Patience.seconds)
    val last = Await.result(sendAsync(next)(_.send(first + 1L)), Patience.seconds)
    duologue.flush(last)
    abandon(read(rest, first, first + 2L))
    val failed = new CompletableFuture[Why]
    def more(client: Client): Unit = sendAsync(client)(_.send(0L)).onComplete {
      case scala.util.Success(next)                  => spawn(more(next)): Unit
      case scala.util.Failure(closed: SessionClosed) => failed.complete(closed.why): Unit
      case scala.util.Failure(other)                 => failed.completeExceptionally(other): Unit
    }
    more(last)
    assertEquals(failed.get(Patience, TimeUnit.SECONDS), Why.Left: Why)
  }

  /** A connection on which nothing arrives. It takes bytes once `takes` is set, and counts the attempts to write. */
  private final class Blocked extends Channel {
    val attempts = new AtomicInteger
    val written = new AtomicInteger
    @volatile private var takes = false
    /** What waits for it waits for something to read here. */
    private val pipe = Pipe.open()
    pipe.source.configureBlocking(false): Unit

    /** Takes bytes from now on, and makes what waits for that ready. */
    def unblock(): Unit = {
      takes = true
      pipe.sink.write(ByteBuffer.allocate(1)): Unit
    }

    def read(into: ByteBuffer): Int = 0

    def write(from: ByteBuffer): Int = {
      attempts.incrementAndGet(): Unit
      val count = if (takes) from.remaining else 0
      from.position(from.position + count): Unit
      written.addAndGet(count): Unit
      count
    }

    def arm(selector: Selector, interest: Int, watcher: Watcher): Unit = {
      val key = pipe.source.keyFor(selector)
      if (key == null) pipe.source.register(selector, SelectionKey.OP_READ, watcher): Unit
      else key.interestOps(SelectionKey.OP_READ): Unit
    }

    def handshake(deadline: Long): Int = 0
    def isBuffered: Boolean = false
    def peer: Option[String] = None
    def user: Option[String] = None
    def isConnected: Boolean = true
    def prepare(): Unit = ()
    def waiting(): Selecting = null
    override def close(): Unit = {
      pipe.source.close()
      pipe.sink.close()
    }
  }

  test("while a connection takes nothing, no thread tries again and again to write") {
    val channel = new Blocked
    val connection = new Connection(channel, _ => ())
    val first = begin(numbers.client, connection, ConnectOptions(), 1L << 20, 0, isAccepting = false, None, fail("nobody observes"))
    val next = first.send(1L)
    eventually(channel.attempts.get > 0)
    // The reactor checks more often what was collected.
    for (_ <- 1 to 2) turn(hours = 0)
    assert(channel.attempts.get < 20, channel.attempts.get.toString)
    channel.unblock()
    eventually(channel.written.get > 0)
    abandon(next)
  }
}
