package duologue.net

import duologue.{Endpoint, Why, abandon}
import java.io.{IOException, InputStream, OutputStream, PipedInputStream, PipedOutputStream}
import java.nio.channels.SocketChannel
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue, TimeUnit}
import protocols.{bank, numbers, payloads}
import scala.concurrent.duration.{DurationInt, DurationLong}

/** Sessions over connections that the program provides. */
final class ByteStreamSuite extends BankSuite {

  /** Two sockets that are connected. */
  private def sockets(): (SocketChannel, SocketChannel) = {
    val address = freshAddress()
    val listener = listening(address)
    val near = raw(address)
    val far = listener.accept()
    listener.close()
    (near, far)
  }

  /** A pipe in each direction, and whether each of the four streams is closed. */
  private final class Pipes {
    val closed: Vector[AtomicBoolean] = Vector.fill(4)(new AtomicBoolean)
    private val (toServer, toClient) = (new PipedOutputStream, new PipedOutputStream)
    private val (fromClient, fromServer) = (new PipedInputStream(toServer, 1 << 12), new PipedInputStream(toClient, 1 << 12))
    private def in(stream: InputStream, number: Int) = new InputStream {
      override def read(): Int = stream.read()
      override def read(to: Array[Byte], from: Int, most: Int): Int = stream.read(to, from, most)
      override def close(): Unit = {
        stream.close()
        closed(number).set(true)
      }
    }
    private def out(stream: OutputStream, number: Int) = new OutputStream {
      override def write(byte: Int): Unit = stream.write(byte)
      override def write(bytes: Array[Byte], from: Int, count: Int): Unit = stream.write(bytes, from, count)
      override def flush(): Unit = stream.flush()
      override def close(): Unit = {
        stream.close()
        closed(number).set(true)
      }
    }
    val client: ByteStream = ByteStream(in(fromServer, 0), out(toServer, 1))
    val server: ByteStream = ByteStream(in(fromClient, 2), out(toClient, 3))
  }

  /** The kinds of connections, each with both ends. */
  private def kinds: List[() => (ByteStream, ByteStream)] = List(
    () => {
      val (near, far) = sockets()
      (ByteStream(near), ByteStream(far))
    },
    () => {
      val pipes = new Pipes
      (pipes.client, pipes.server)
    }
  )

  private def numbersOver(client: ByteStream, server: ByteStream): (numbers.client.Stream, numbers.server.Stream) = {
    val accepting = spawn(acceptOver(numbers.server, server))
    val first = connectOver(numbers.client, client)
    (first, await(accepting))
  }

  test("either side of a protocol connects, over sockets and over streams") {
    for (kind <- kinds) {
      val (one, other) = kind()
      val serving = spawn(serveBank(acceptOver(bank.server, other)))
      customer(connectOver(bank.client, one))
      await(serving)
      val (near, far) = kind()
      val playing = spawn(customer(acceptOver(bank.client, far)))
      serveBank(connectOver(bank.server, near))
      await(playing)
    }
  }

  test("streams are closed when the session is over, and what was sent before arrives") {
    val pipes = new Pipes
    val (client, server) = numbersOver(pipes.client, pipes.server)
    val count = 200000L
    val sending = spawn(abandon((1L to count).foldLeft(client)((next, number) => next.send(number))))
    val last = (1L to count).foldLeft(server) { (next, number) =>
      val numbers.Stream.Send(value, rest) = next.recv()
      assertEquals(value, number)
      rest
    }
    await(sending)
    assertEquals(why(last.recv()), Why.Left: Why)
    eventually(pipes.closed.forall(_.get))
  }

  test("sessions over streams wait without a thread, and for each other") {
    val pairs = Vector.fill(3)(new Pipes).map(pipes => numbersOver(pipes.client, pipes.server))
    val arrived = pairs.map(_._2.recvAsync())
    assert(arrived.forall(!_.isCompleted))
    pairs.zipWithIndex.foreach { case ((client, _), number) => abandon(client.send(number.toLong)) }
    arrived.zipWithIndex.foreach { case (future, number) =>
      val numbers.Stream.Send(value, rest) = scala.concurrent.Await.result(future, Patience.seconds)
      assertEquals(value, number.toLong)
      abandon(rest)
    }
  }

  test("a stream that ends or fails loses the session, after what has arrived") {
    for (fails <- List(false, true)) {
      val pipe = new PipedOutputStream
      val in = new PipedInputStream(pipe, 1 << 16)
      val isOver = new AtomicBoolean
      val out = new OutputStream {
        override def write(byte: Int): Unit = if (isOver.get) throw new IllegalStateException("the program's own failure")
      }
      val hello = lines("streams.txt").dropWhile(_ != "session whole").tail.head.split(' ')
      pipe.write(unhex(hello(1)))
      pipe.write(unhex(lines("streams.txt").dropWhile(_ != "session whole").drop(3).head.split(' ')(1)))
      val login = acceptOver(bank.server, ByteStream(in, out))
      isOver.set(true)
      val bank.Login.Login(name, _, next) = login.recv()
      assertEquals(name, "holk")
      if (fails) {
        // The answer cannot be written. That is found when it is tried, and then nothing more can be received.
        val again = next.invalid()
        val waiting = spawn(why(again.recv()))
        pipe.close()
        assertEquals(await(waiting), Why.Lost: Why)
      } else {
        pipe.close()
        val again = next.invalid()
        assertEquals(why(again.recv()), Why.Lost: Why)
      }
    }
  }

  test("a stream that cannot be written does not lose what arrives") {
    val pipe = new PipedOutputStream
    val in = new PipedInputStream(pipe, 1 << 16)
    val isBroken = new AtomicBoolean
    val out = new OutputStream {
      override def write(byte: Int): Unit = if (isBroken.get) throw new IOException("nobody reads this")
    }
    pipe.write(helloOf(numbers.client))
    // With a heartbeat this side writes while it only receives.
    val server = acceptOver(numbers.server, ByteStream(in, out), ConnectOptions(heartbeat = Hour))
    isBroken.set(true)
    turn(hours = 1)
    pipe.write(Array[Byte](1, 7, 0, 0, 0, 0, 0, 0, 0))
    pipe.flush()
    val numbers.Stream.Send(value, rest) = server.recv()
    assertEquals(value, 7L)
    pipe.close()
    assertEquals(why(rest.recv()), Why.Lost: Why)
  }

  test("streams are closed when the session is over, although its last bytes cannot be written") {
    val pipe = new PipedOutputStream
    val (isClosed, isFree) = (new AtomicBoolean, new CountDownLatch(1))
    val in = new PipedInputStream(pipe, 1 << 16) {
      override def close(): Unit = {
        super.close()
        isClosed.set(true)
      }
    }
    val out = new OutputStream {
      override def write(byte: Int): Unit = isFree.await()
      override def close(): Unit = isFree.countDown()
    }
    pipe.write(helloOf(numbers.client))
    abandon(acceptOver(numbers.server, ByteStream(in, out)))
    eventually(isClosed.get && isFree.getCount == 0L)
  }

  test("a stream belongs to one session") {
    val pipes = new Pipes
    val (client, server) = numbersOver(pipes.client, pipes.server)
    val thrown = intercept[IllegalStateException](connectOver(numbers.client, pipes.client))
    assert(thrown.getMessage.contains("make a `ByteStream` for each connection"), thrown.getMessage)
    abandon(client.send(1L))
    val numbers.Stream.Send(value, rest) = server.recv()
    assertEquals(value, 1L)
    abandon(rest)
  }

  test("an interrupt before a session is reported as one, also to the observer") {
    val heard = new LinkedBlockingQueue[Observer.Refusal]
    val options = ConnectOptions(observer = Some(new Observer {
      override def refused(refusal: Observer.Refusal): Unit = heard.add(refusal): Unit
    }))
    def interrupted(begin: => Any): Boolean = {
      Thread.currentThread.interrupt()
      try {
        begin: Unit
        false
      } catch { case _: InterruptedException => true }
      finally Thread.interrupted(): Unit
    }
    for (isAccepting <- List(false, true)) {
      val pipes = new Pipes
      assert(interrupted {
        if (isAccepting) acceptOver(numbers.server, pipes.server, options) else connectOver(numbers.client, pipes.client, options)
      })
      val refusal = heard.poll(Patience, TimeUnit.SECONDS)
      assertEquals((refusal.isAccepting, refusal.protocol), (isAccepting, Option("numbers")))
      // The streams belong to the session that did not begin.
      eventually(pipes.closed.count(_.get) == 2)
    }
  }

  private def refusal(client: => Endpoint, server: => Endpoint): (Throwable, Throwable) = {
    val accepting = spawn(intercept[ConnectFailed](server): Throwable)
    val connecting = intercept[IOException](client)
    (connecting, await(accepting))
  }

  test("a hello that does not fit is refused, and both sides say why") {
    for (kind <- kinds) {
      val (one, other) = kind()
      refusal(connectOver(numbers.client, one), acceptOver(payloads.server, other)) match {
        case (refused: Refused, here) =>
          assertEquals(refused.verdict, 16)
          assert(here.getMessage.contains("the protocol is not served"), here.getMessage)
        case both => fail(both.toString)
      }
      val (near, far) = kind()
      refusal(connectOver(bank.client, near), acceptOver(bank.client, far)) match {
        case (refused: Refused, here) =>
          assertEquals(refused.verdict, 22)
          assert(here.getMessage.contains("both sides would send first"), here.getMessage)
        case both => fail(both.toString)
      }
      val accepted = ConnectOptions(accepts = Seq(Fingerprint.of(numbers.client.$protocol.fingerprint)))
      val (first, second) = kind()
      val accepting = spawn(acceptOver(payloads.server, second, accepted))
      abandon(connectOver(numbers.client, first))
      abandon(await(accepting))
    }
  }

  test("a peer that sends no hello is not waited for longer than the options say") {
    for (bytes <- List("", "duolog", "GET / HTTP/1.1\r\n\r\n")) {
      val pipe = new PipedOutputStream
      val in = new PipedInputStream(pipe)
      val isClosed = new AtomicBoolean
      val out = new OutputStream {
        override def write(byte: Int): Unit = ()
        override def close(): Unit = isClosed.set(true)
      }
      pipe.write(bytes.getBytes("US-ASCII"))
      val failed = intercept[ConnectFailed](acceptOver(bank.server, ByteStream(in, out), ConnectOptions(timeout = 200.millis)))
      val expected = if (bytes.length > 12) "something other than a hello" else "did not answer in time"
      assert(failed.getMessage.contains(expected), failed.getMessage)
      eventually(isClosed.get)
    }
  }
}
