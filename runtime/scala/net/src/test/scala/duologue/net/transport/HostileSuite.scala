package duologue.net

import duologue.{Bytes, SessionClosed, Why}
import java.net.{InetAddress, InetSocketAddress}
import java.nio.channels.SocketChannel
import java.util.concurrent.atomic.AtomicLong
import protocols.{bank, telemetry}
import scala.annotation.tailrec
import scala.concurrent.duration.DurationInt

/** Peers that take more than their share: connections that send nothing, too many from one peer, sessions in which nothing happens, a
  * reader that sleeps; and connections that are reset.
  */
final class HostileSuite extends BankSuite {
  private val Silent = 300
  private val Waiting = 100
  private val Visits = 20

  private def serving(address: String, limits: Limits): Listener =
    Listener(address, limits).serve(telemetry.server)(server => answer(server): Unit).start()

  /** Receives until the client asks; returns how many bytes of data came. */
  @tailrec
  private def answer(server: telemetry.server.Report, before: Long = 0L): Long = server.recv() match {
    case telemetry.Report.Raw(_, _, data, next) =>
      if (before % (Sent / 16) == 0L) Thread.sleep(20L)
      answer(next, before + data.length.toLong)
    case telemetry.Report.Flush(next) =>
      next.enough()
      before
    case other => fail(other.toString)
  }

  /** One turn, which ends the session. */
  private def visit(client: telemetry.client.Report): Unit =
    client.flush().recv() match {
      case telemetry.Echo.Enough => ()
      case other                 => fail(other.toString)
    }

  /** Whether the peer has closed the connection by now. */
  private def isClosed(socket: SocketChannel): Boolean = {
    socket.configureBlocking(false): Unit
    val isEnded =
      try socket.read(java.nio.ByteBuffer.allocate(1)) < 0
      catch { case _: java.io.IOException => true }
    socket.configureBlocking(true): Unit
    isEnded
  }

  test("connections that send nothing give way to others, and have no thread") {
    val listener = serving(freshAddress(), Limits(silent = Waiting, handshakes = 4, hello = 1.hour))
    val raws = Vector.fill(Silent)(raw(listener.address))
    for (_ <- 1 to Visits) visit(connect(telemetry.client, listener.address))
    val closed = raws.count(isClosed)
    assert(closed >= Silent - Waiting && closed <= Silent - Waiting + Visits, closed.toString)
    def handshakes = Thread.getAllStackTraces.keySet.stream.filter(_.getName.startsWith("duologue-hello-")).count
    assert(handshakes <= 4L)
    listener.close()
    for (one <- raws) assertEquals(receive(one, 1).length, 0)
    raws.foreach(_.close())
  }

  test("a hello of which a byte comes now and then is closed when the time for a handshake is over") {
    // Long enough for the hello of an honest client on a busy machine.
    val listener = serving(freshAddress(), Limits(hello = 3.seconds))
    val dripping = raw(listener.address)
    // Its head says that 1,024 bytes follow.
    send(dripping, Handshake.Magic ++ unhex("01000004"))
    visit(connect(telemetry.client, listener.address))
    var sent = 0
    try
      while (sent < 1024) {
        send(dripping, Array[Byte](0))
        sent += 1
        Thread.sleep(20L)
      }
    catch { case _: java.io.IOException => () }
    assert(sent > 0 && sent < 1024, sent.toString)
    assertEquals(receive(dripping, 1).length, 0)
    dripping.close()
    listener.close()
  }

  test("an answer of which a byte comes now and then is waited for as long as connecting may take") {
    val address = freshAddress()
    val server = listening(address)
    val dripped = spawn {
      val socket = server.accept()
      // All but the last byte.
      for (byte <- answerOf(telemetry.server).init) {
        send(socket, Array(byte))
        Thread.sleep(20L)
      }
      receive(socket, 1 << 16): Unit
      socket.close()
    }
    val options = ConnectOptions(timeout = 300.millis)
    val failed = intercept[ConnectFailed](connect(telemetry.client, address, options))
    assert(failed.getMessage.contains("did not answer in time"), failed.getMessage)
    try await(dripped)
    catch { case _: java.util.concurrent.ExecutionException => () }
    server.close()
  }

  private def verdict(listener: Listener): Option[Int] =
    try {
      duologue.abandon(connect(telemetry.client, listener.address))
      None
    } catch { case refused: Refused => Some(refused.verdict) }

  /** Tries until there is a result. Unlike in `eventually`, a success is not repeated. */
  @tailrec
  private def repeat[T](deadline: Long = System.nanoTime() + Patience * 1000000000L)(attempt: () => Option[T]): T =
    attempt() match {
      case Some(result) => result
      case None =>
        assert(System.nanoTime() < deadline)
        Thread.sleep(1L)
        repeat(deadline)(attempt)
    }

  /** Connects as soon as a place is free again. */
  private def connectAgain(listener: Listener): telemetry.client.Report =
    repeat() { () =>
      try Some(connect(telemetry.client, listener.address))
      catch { case _: Refused | _: ConnectFailed => None }
    }

  test("the connections of a peer have a limit") {
    for (address <- List(freshAddress(), "tcp://127.0.0.1:0")) {
      val listener = serving(address, Limits(perPeer = 2, hello = 1.hour))
      val first = connect(telemetry.client, listener.address)
      val second = connect(telemetry.client, listener.address)
      for (_ <- 1 to 3) assertEquals(verdict(listener), Some(Verdict.Full))
      visit(first)
      duologue.abandon(connectAgain(listener))
      duologue.abandon(second)
      // Both places are free at the same time.
      val (one, other) = (connectAgain(listener), connectAgain(listener))
      duologue.abandon(one)
      // A connection that sends nothing counts, too, unless it was refused because the other place is not free yet.
      val silent = repeat() { () =>
        val at = listener.address.split(':').last
        val socket =
          if (address.startsWith("unix:")) raw(listener.address)
          else SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress, at.toInt))
        if (verdict(listener).contains(Verdict.Full) && !isClosed(socket)) Some(socket)
        else {
          socket.close()
          None
        }
      }
      silent.close()
      duologue.abandon(connectAgain(listener))
      duologue.abandon(other)
      listener.close()
    }
  }

  /** What goes into a reader that sleeps, in bytes. */
  private val Sent = Integer.getInteger("duologue.sent", Integer.valueOf(256)).longValue << 20
  private val Message = 64 << 10

  private def heap(): Long = Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory

  test("a reader that sleeps leaves the memory of both sides bounded") {
    val (server, first) = pair(telemetry.server, telemetry.client)
    var client = first
    System.gc()
    val before = heap()
    val read = spawn(answer(server))
    val most = new AtomicLong
    val data = Bytes.copyOf(new Array[Byte](Message))
    for (count <- 0L until Sent / Message) {
      client = client.raw(on = true, "", data)
      if (count % 512L == 0L) {
        System.gc()
        most.accumulateAndGet(heap() - before, (one, other) => math.max(one, other)): Unit
      }
    }
    visit(client)
    assertEquals(await(read), Sent)
    assert(most.get < (32L << 20), most.toString)
  }

  /** A customer who logs in, deposits and withdraws. Returns how many answers came, and why there were no more. */
  private def shop(address: String): (Int, Option[Why]) = {
    var answers = 0
    try {
      connect(bank.client, address).login("holk", "1234").recv() match {
        case bank.LoginResponse.Ok(connected) =>
          answers += 1
          connected.deposit(100.0).withdrawal(50.0).recv() match {
            case bank.WithdrawalResponse.Money(_, next) =>
              answers += 1
              next.quit()
            case other => fail(other.toString)
          }
        case other => fail(other.toString)
      }
      (answers, None)
    } catch { case closed: SessionClosed => (answers, Some(closed.why)) }
  }

  /** The bytes of the hello, and of its answer. */
  private val (hello, reply) = (44, 38)

  test("a connection that is reset after any byte is lost, and nothing hangs") {
    val ended = new java.util.concurrent.LinkedBlockingQueue[Option[Why]]
    val listener = Listener("tcp://127.0.0.1:0")
      .serve(bank.server) { login =>
        val outcome =
          try {
            serveBank(login)
            None
          } catch { case closed: SessionClosed => Some(closed.why) }
        ended.add(outcome): Unit
      }
      .start()
    val port = listener.address.split(':').last.toInt
    val whole = new Proxy(port)
    assertEquals(shop("tcp://127.0.0.1:" + whole.port.toString), (2, None))
    assertEquals(ended.poll(Patience, java.util.concurrent.TimeUnit.SECONDS), None)
    val (toServer, toClient) = await(whole.done)
    val limits = (hello + 1 until toServer).map(_ -> Int.MaxValue) ++ (reply until toClient).map(Int.MaxValue -> _)
    for ((fromClient, fromServer) <- limits) {
      val clue = s"$fromClient bytes from the client, $fromServer bytes from the server"
      val proxy = new Proxy(port, fromClient, fromServer, resets = true)
      val (answers, client) = shop("tcp://127.0.0.1:" + proxy.port.toString)
      // If the answers have come, the client cannot know what became of its last message.
      assert(client.contains(Why.Lost) || client.isEmpty && answers == 2, clue + ": " + client.toString)
      val server = ended.poll(Patience, java.util.concurrent.TimeUnit.SECONDS)
      assert(server != null && (server.contains(Why.Lost) || server.isEmpty && answers == 2), clue + ": " + server)
      await(proxy.done)
    }
    listener.close()
  }
}
