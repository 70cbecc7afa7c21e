package duologue.net

import duologue.{Clock, Memory, RemoteState, Role, SessionClosed, SessionEvents, Why, generated, trySend}
import java.net.{InetAddress, ServerSocket, Socket, StandardProtocolFamily, StandardSocketOptions, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.{Files, Path}
import java.util.concurrent.{CompletableFuture, TimeUnit}
import munit.FunSuite
import protocols.{bank, numbers}
import scala.annotation.tailrec
import scala.concurrent.duration.{Duration, DurationLong, FiniteDuration}

/** What the suites have in common: files of the repository, sockets without the library, and threads. */
abstract class NetSuite extends FunSuite {

  /** A wait that takes longer than this has failed. */
  protected val Patience = 60L

  /** Has the sockets, and is deleted after all tests of the suite. */
  private lazy val folder: Path = Files.createTempDirectory("duologue-net")
  private var count = 0

  override def afterAll(): Unit = {
    val files = Files.walk(folder)
    try files.sorted(java.util.Comparator.reverseOrder[Path]).forEach(Files.deleteIfExists(_): Unit)
    finally files.close()
  }

  protected def repository: Path = Path.of(System.getProperty("duologue.repository"))

  protected def lines(file: String): Vector[String] =
    Files.readString(repository.resolve("tests/wire").resolve(file)).linesIterator.filterNot(_.startsWith("#")).toVector

  /** An address that is not in use. */
  protected def freshAddress(): String = synchronized {
    count += 1
    "unix:" + folder.resolve(count.toString + ".sock").toString
  }

  protected def unhex(text: String): Array[Byte] =
    if (text == "-") Array.emptyByteArray else text.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  protected def hex(bytes: Array[Byte]): String =
    if (bytes.isEmpty) "-" else bytes.map(byte => f"$byte%02x").mkString

  /** What a thread of its own returns. */
  protected final class Spawned[T](body: => T) extends CompletableFuture[T] {
    private val thread = new Thread(() =>
      try complete(body): Unit
      catch { case thrown: Throwable => completeExceptionally(thrown): Unit }
    )
    thread.setDaemon(true)
    thread.start()

    /** Returns once the thread waits on an endpoint. */
    def waits(): Unit = eventually(thread.getStackTrace.exists { frame =>
      frame.getMethodName == "await" && frame.getClassName.startsWith("duologue.")
    })

    def interrupt(): Unit = thread.interrupt()
  }

  /** Runs `body` in a thread of its own. */
  protected def spawn[T](body: => T): Spawned[T] = new Spawned(body)

  protected def await[T](future: CompletableFuture[T]): T = future.get(Patience, TimeUnit.SECONDS)

  /** Both ends of a new session. The listener serves no other protocol yet, so a client that is early waits. */
  protected def meet(server: Role, client: Role, at: Listener, options: ConnectOptions = ConnectOptions()): (server.$First, client.$First) = {
    val accepted = spawn(at.accept(server))
    val first = connect(client, at.address, options)
    (await(accepted), first)
  }

  /** The same over a listener of its own. */
  protected def pair(server: Role, client: Role, limits: Limits = Limits()): (server.$First, client.$First) = {
    val listener = Listener(freshAddress(), limits)
    val both = meet(server, client, listener)
    listener.close()
    both
  }

  protected def closed(session: => Any): SessionClosed = intercept[SessionClosed](session)

  protected def why(session: => Any): Why = closed(session).why

  private def path(address: String): UnixDomainSocketAddress = UnixDomainSocketAddress.of(address.stripPrefix("unix:"))

  /** A socket without the library. */
  protected def raw(address: String): SocketChannel = SocketChannel.open(path(address))

  /** A listener without the library. */
  protected def listening(address: String): ServerSocketChannel = {
    val listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
    listener.bind(path(address)): Unit
    listener
  }

  /** What a client sends first, without the library. It accepts messages of this size. */
  protected def helloOf(client: Role, largest: Long = 1024L, heartbeat: Int = 0): Array[Byte] = {
    val protocol = client.$protocol
    Hello(Fingerprint.of(protocol.fingerprint), receivesFirst = false, largest, heartbeat, protocol.name, Vector(), None, None).encode
  }

  /** What a server answers. */
  protected def answerOf(server: Role): Array[Byte] = {
    val session = Answer.Session(Fingerprint.of(server.$protocol.fingerprint), 1L << 20, 0)
    Answer(Verdict.Equal, Some(session), 0L).encode
  }

  protected def receiveAnswer(socket: SocketChannel): Unit =
    receive(socket, Handshake.answerHead(receive(socket, Handshake.Head))): Unit

  protected def send(socket: SocketChannel, bytes: Array[Byte]): Unit = {
    val buffer = ByteBuffer.wrap(bytes)
    while (buffer.hasRemaining) socket.write(buffer): Unit
  }

  /** Up to `most` bytes; fewer only at the end of the connection. */
  protected def receive(socket: SocketChannel, most: Int): Array[Byte] = {
    val buffer = ByteBuffer.allocate(most)
    var isOpen = true
    while (buffer.hasRemaining && isOpen)
      isOpen =
        try socket.read(buffer) >= 0
        catch { case _: java.io.IOException => false }
    buffer.array.take(buffer.position())
  }

  /** Passes on one connection to a port of this host, up to a number of bytes in each direction. After that both connections are closed,
    * or reset.
    */
  protected final class Proxy(to: Int, fromClient: Int = Int.MaxValue, fromServer: Int = Int.MaxValue, resets: Boolean = false) {
    private val own = new ServerSocket(0, 1, InetAddress.getLoopbackAddress)
    val port: Int = own.getLocalPort

    /** How many bytes it has passed on in each direction. */
    val done: Spawned[(Int, Int)] = spawn {
      val client = own.accept()
      val server = new Socket(InetAddress.getLoopbackAddress, to)
      val both = List(client, server)
      both.foreach(_.setTcpNoDelay(true))
      def end(): Unit = both.foreach { socket =>
        if (resets && !socket.isClosed) socket.setOption(StandardSocketOptions.SO_LINGER, Integer.valueOf(0)): Unit
        socket.close()
      }
      def pass(from: Socket, to: Socket, most: Int): Int = {
        var passed = 0
        try {
          val bytes = new Array[Byte](4096)
          var count = 0
          while (count >= 0 && passed < most) {
            count = from.getInputStream.read(bytes, 0, math.min(most - passed, bytes.length))
            if (count > 0) {
              to.getOutputStream.write(bytes, 0, count)
              passed += count
            }
          }
          if (passed == most) end()
          else to.shutdownOutput()
        } catch { case _: java.io.IOException => () }
        passed
      }
      val back = spawn(pass(server, client, fromServer))
      val there = pass(client, server, fromClient)
      val passed = (there, await(back))
      end()
      own.close()
      passed
    }
  }

  /** Turns the clock of heartbeats and time limits forward, and returns once all were checked. */
  protected def turn(hours: Int): Unit = {
    Clock.turn(TimeUnit.HOURS.toNanos(hours.toLong))
    val checked = Reactor.nextBeat
    eventually {
      Reactor.wake()
      Reactor.beaten >= checked
    }
  }

  /** What is around one side of a session without sockets: its connection, and what the transport calls. */
  protected final class Around(val wire: Memory, val far: RemoteState) {
    def arrive(bytes: String): Unit = wire.arrive(unhex(bytes))
    def sent(): String = hex(wire.sent())

    /** Turns the clock, and checks all that depends on it. */
    def pass(time: FiniteDuration): Unit = {
      Clock.turn(time.toNanos)
      if (wire.isTimed) far.beat()
    }

    /** How long it is until the next time limit. */
    def deadline: Option[FiniteDuration] = Memory.untilLimit(far).map(_.nanos)
  }

  protected def begun(
      role: Role,
      wire: Memory = new Memory,
      idle: FiniteDuration = Duration.Zero,
      own: Int = 0,
      peers: Int = 0,
      largest: Long = 1L << 20,
      events: SessionEvents = null
  ): (role.$First, Around) = {
    val far = new RemoteState(role.$protocol, role.$isClient, wire, largest, 1L << 20, largest, !role.$isClient, events)
    val near = generated.near(far.idle(idle.toNanos).heartbeats(own, peers))
    (role.$open(near), new Around(wire, far))
  }

  /** Sends numbers from `first` on until there is no space; returns the number that was not sent. */
  @tailrec
  protected final def filled(client: numbers.client.Stream, first: Long = 0L): (numbers.client.Stream, Long) =
    trySend(client)(_.send(first)) match {
      case Some(next) => filled(next, first + 1L)
      case None       => (client, first)
    }

  /** In seconds. */
  protected val Hour = 3600

  /** Evaluates the condition until it is true, and not once more: it may begin a session. */
  protected def eventually(condition: => Boolean): Unit = {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(Patience)
    var isTrue = condition
    while (!isTrue && System.nanoTime() < deadline) {
      Thread.sleep(1L)
      isTrue = condition
    }
    assert(isTrue)
  }
}

/** Those whose sessions are with a bank. */
abstract class BankSuite extends NetSuite {

  /** Wants the password `1234`. */
  @tailrec
  protected final def teller(login: bank.server.Login): bank.server.Connected = {
    val bank.Login.Login(_, password, next) = login.recv()
    if (password == "1234") next.ok() else teller(next.invalid())
  }

  /** Pays out whatever is asked for. */
  @tailrec
  protected final def counter(connected: bank.server.Connected): Unit = connected.recv() match {
    case bank.Connected.Deposit(_, next)         => counter(next)
    case bank.Connected.Withdrawal(amount, next) => counter(next.money(amount))
    case bank.Connected.Quit                     => ()
  }

  protected def serveBank(login: bank.server.Login): Unit = counter(teller(login))

  protected def accepted(answer: bank.client.LoginResponse): bank.client.Connected = answer.recv() match {
    case bank.LoginResponse.Ok(next) => next
    case other                       => fail(other.toString)
  }

  protected def logIn(login: bank.client.Login): bank.client.Connected = accepted(login.login("holk", "1234"))

  protected def withdraw(connected: bank.client.Connected, amount: Double): bank.client.Connected =
    connected.withdrawal(amount).recv() match {
      case bank.WithdrawalResponse.Money(paid, next) =>
        assertEquals(paid, amount)
        next
      case other => fail(other.toString)
    }

  /** Logs in, and leaves after this number of withdrawals. */
  protected def customer(login: bank.client.Login, rounds: Int = 3): Unit =
    (1 to rounds).foldLeft(logIn(login).deposit(1.0))((connected, round) => withdraw(connected, round.toDouble)).quit()
}
