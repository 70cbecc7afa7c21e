package duologue.nats

import duologue.{SessionClosed, Why, abandon}
import duologue.net.{ConnectFailed, ConnectOptions, Exchange, ExchangeOptions, Inbox, Listener, NetSuite, Refused, connect, connectThrough}
import io.nats.client.ConnectionListener
import io.nats.service.Discovery
import java.io.{BufferedReader, InputStreamReader}
import java.nio.ByteBuffer
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.LockSupport
import protocols.{bank, numbers}
import scala.annotation.tailrec
import scala.concurrent.duration.{DurationInt, DurationLong}
import scala.jdk.CollectionConverters.{IteratorHasAsScala, ListHasAsScala}

/** Sessions over a NATS server, which each test starts for itself. The programs in Rust are those of `tests/brokers`. */
final class NatsSuite extends NetSuite {

  /** A NATS server on a free port, with a folder of its own. */
  private final class Server(config: String) extends AutoCloseable {
    private val folder = Files.createTempDirectory("duologue-nats")
    private val file = Files.writeString(folder.resolve("config"), config)
    private var process = run("-1")
    eventually(readPort.nonEmpty)
    val port: String = readPort.getOrElse("")
    val address: String = "127.0.0.1:" + port

    private def run(port: String): Process = {
      val command = List("nats-server", "--addr", "127.0.0.1", "--port", port, "--ports_file_dir", folder.toString, "--config", file.toString)
      val builder = new ProcessBuilder(command: _*)
      ending(builder.redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start())
    }

    /** The file with the port appears when the server listens. */
    private def readPort: Option[String] = {
      val files = Files.list(folder)
      try
        files.iterator.asScala.filter(_.toString.endsWith(".ports")).flatMap { file =>
          """nats://127\.0\.0\.1:(\d+)""".r.findFirstMatchIn(Files.readString(file)).map(_.group(1))
        }.nextOption()
      finally files.close()
    }

    /** Sends it a signal, such as `STOP`. */
    def signal(name: String): Unit = {
      val sent = new ProcessBuilder("kill", "-" + name, process.pid.toString).start().waitFor()
      assertEquals(sent, 0)
    }

    def kill(): Unit = process.destroyForcibly().waitFor(): Unit
    def restart(): Unit = process = run(port)

    def close(): Unit = {
      kill()
      delete(folder)
    }
  }

  private def at[T](config: String = "")(test: Server => T): T = {
    val server = new Server(config)
    try test(server)
    finally server.close()
  }

  @tailrec
  private def teller(login: bank.server.Login): bank.server.Connected = {
    val bank.Login.Login(_, password, next) = login.recv()
    if (password == "1234") next.ok() else teller(next.invalid())
  }

  @tailrec
  private def count(connected: bank.server.Connected, balance: Double): Unit = connected.recv() match {
    case bank.Connected.Deposit(money, next)                            => count(next, balance + money)
    case bank.Connected.Withdrawal(amount, next) if amount <= balance => count(next.money(amount), balance - amount)
    case bank.Connected.Withdrawal(_, next)                             => count(next.insufficientFunds(), balance)
    case bank.Connected.Quit                                            => ()
  }

  private def serving(listener: Listener): Listener = listener.serve(bank.server)(login => count(teller(login), 0.0)).start()

  private def customer(login: bank.client.Login, turns: Int): Unit = {
    var connected = login.login("holk", "1234").recv() match {
      case bank.LoginResponse.Ok(next) => next
      case other                       => fail(other.toString)
    }
    for (number <- 1 to turns) connected = connected.deposit(number.toDouble).withdrawal(number.toDouble).recv() match {
      case bank.WithdrawalResponse.Money(_, next) => next
      case other                                  => fail(other.toString)
    }
    connected.quit()
  }

  private val patient = ConnectOptions(timeout = Patience.seconds)

  /** Connects as soon as a server has subscribed. */
  private def connected[T](connect: => T): T = {
    var first = Option.empty[T]
    eventually {
      try first = Some(connect)
      catch { case _: Refused => () }
      first.nonEmpty
    }
    first.get
  }

  private def program(name: String, arguments: String*): Process = {
    val file = Path.of(System.getProperty("duologue.programs")).resolve(name).toString
    ending(new ProcessBuilder((file +: arguments): _*).redirectError(ProcessBuilder.Redirect.INHERIT).start())
  }

  /** The process ends with this one, also if a test is given up. */
  private def ending(process: Process): Process = {
    Runtime.getRuntime.addShutdownHook(new Thread(() => process.destroyForcibly(): Unit))
    process
  }

  private def ended(process: Process): Unit = {
    assert(process.waitFor(Patience, TimeUnit.SECONDS))
    assertEquals(process.exitValue, 0)
  }

  test("the address is all that differs: a bank drains, and what nobody serves is refused") {
    at() { server =>
      val address = "nats://" + server.address + "/bank"
      val listener = serving(Listener(address))
      assertEquals(listener.address, address)
      for (turns <- List(0, 1, 200)) customer(connect(bank.client, address), turns)
      assertEquals(intercept[Refused](connect(numbers.client, address)).verdict, 16)
      eventually(listener.size == 0)
      assert(listener.drain(Patience.seconds))
      assertEquals(intercept[Refused](connect(bank.client, address)).verdict, 16)
      val nowhere = intercept[ConnectFailed](connect(bank.client, "nats://127.0.0.1:1/bank"))
      assert(nowhere.getMessage.contains("nats://127.0.0.1:1/bank"), nowhere.getMessage)
    }
  }

  test("a client in Scala and a server in Rust") {
    at() { server =>
      val address = "nats://" + server.address + "/bank"
      val teller = program("teller", address)
      val output = new BufferedReader(new InputStreamReader(teller.getInputStream))
      customer(connected(connect(bank.client, address, patient)), 0)
      for (turns <- List(1, 200)) customer(connect(bank.client, address), turns)
      teller.getOutputStream.close()
      val printed = spawn(Iterator.continually(output.readLine()).takeWhile(_ != null).toList)
      assertEquals(await(printed).lastOption, Some("3"))
      ended(teller)
    }
  }

  test("a client in Rust and a server in Scala") {
    at() { server =>
      val address = "nats://" + server.address + "/bank"
      val listener = serving(Listener(address))
      for (turns <- List("0", "200")) ended(program("customer", address, turns))
      eventually(listener.size == 0)
      assert(listener.drain(Patience.seconds))
    }
  }

  test("the client library discovers servers in Scala and Rust that say so, and no other") {
    at() { server =>
      val address = "nats://" + server.address + "/bank"
      val hidden = serving(Listener(address))
      val listener = serving(Listener(address).discoverable())
      val command = Path.of(System.getProperty("duologue.programs")).resolve("teller").toString
      val builder = new ProcessBuilder(command, address).redirectOutput(ProcessBuilder.Redirect.DISCARD)
      builder.environment.put("DUOLOGUE_DISCOVERABLE", "1"): Unit
      val rust = ending(builder.start())
      val connection = io.nats.client.Nats.connect("nats://" + server.address)
      try {
        val discovery = new Discovery(connection, 500L, 0)
        def languages() = discovery.ping("bank").asScala.map(_.getMetadata.get("language")).toList.sorted
        eventually(languages() == List("rust", "scala"))
        eventually(discovery.info("bank").size == 2)
        discovery.info("bank").asScala.foreach { info =>
          assertEquals(info.getName, "bank")
          val endpoint = info.getEndpoints.get(0)
          assertEquals(endpoint.getQueueGroup, "duo")
          assertEquals(endpoint.getSubject, "duo.bank." + endpoint.getMetadata.get("fingerprint"))
        }
        hidden.close()
        eventually {
          customer(connected(connect(bank.client, address, patient)), 1)
          val stats = discovery.stats("bank").asScala
          stats.size == 2 && stats.forall(_.getEndpointStatsList.get(0).getNumRequests > 0L)
        }
        assert(listener.drain(Patience.seconds))
        eventually(languages() == List("rust"))
        rust.getOutputStream.close()
        ended(rust)
      } finally connection.close()
    }
  }

  private def exchange(server: Server): Exchange = Nats.exchange(server.address, options = ExchangeOptions(heartbeat = 300.millis))

  test("a NATS server that is killed while numbers are sent: both sides are lost, no number comes twice, and later sessions work") {
    at() { server =>
      val (here, there) = (exchange(server), exchange(server))
      val listener = Listener.through(there, "numbers").start()
      val accepting = spawn(listener.accept(numbers.server))
      val client = connected(connectThrough(numbers.client, here, "numbers", patient))
      val sending = spawn {
        @tailrec def all(stream: numbers.client.Stream, number: Long): Unit = all(stream.send(number), number + 1L)
        intercept[SessionClosed](all(client, 0L)).why
      }
      val received = new java.util.concurrent.atomic.AtomicLong
      val receiving = spawn {
        @tailrec def all(stream: numbers.server.Stream): Unit = {
          val numbers.Stream.Send(number, next) = stream.recv()
          if (number != received.getAndIncrement()) throw new AssertionError("out of order: " + number.toString)
          all(next)
        }
        intercept[SessionClosed](all(await(accepting))).why
      }
      eventually(received.get > 1000L)
      server.kill()
      assertEquals((await(sending), await(receiving)), (Why.Lost: Why, Why.Lost: Why))
      val failed = intercept[ConnectFailed](connectThrough(numbers.client, here, "numbers", ConnectOptions(timeout = 50.millis)))
      assert(failed.getMessage.contains("interrupted"), failed.getMessage)
      server.restart()
      val again = spawn(listener.accept(numbers.server))
      val next = connected(connectThrough(numbers.client, here, "numbers", patient))
      abandon(next.send(7L))
      assertEquals(await(again).recv() match { case numbers.Stream.Send(number, _) => number }, 7L)
      listener.close()
      here.close()
      there.close()
    }
  }

  test("a missing permission is reported by both sides") {
    val config = """authorization { users = [ { user: holk, password: "1234", permissions: {
      publish: ["duo.at.>"], subscribe: ["duo.at.>"] } } ] }"""
    at(config) { server =>
      val here = Nats.exchange(server.address, _.userInfo("holk", "1234"))
      val listener = Listener.through(here, "bank").serve(bank.server)(_ => ())
      assert(intercept[java.io.IOException](listener.start()).getMessage.contains("duo.bank."))
      listener.close()
      val denied = intercept[ConnectFailed](connectThrough(bank.client, here, "bank", patient))
      assert(denied.getMessage.contains("duo.bank."), denied.getMessage)
      here.close()
      intercept[java.io.IOException](Nats.exchange(server.address)): Unit
    }
  }

  test("a slow reader loses nothing") {
    at() { server =>
      val (here, there) = (exchange(server), exchange(server))
      val listener = Listener.through(there, "numbers")
      val accepting = spawn(listener.accept(numbers.server))
      val client = connected(connectThrough(numbers.client, here, "numbers", patient))
      val most = 100000L
      val sending = spawn {
        @tailrec def all(stream: numbers.client.Stream, number: Long): Unit =
          if (number == most) abandon(stream) else all(stream.send(number), number + 1L)
        all(client, 0L)
      }
      var stream = await(accepting)
      Thread.sleep(100L)
      assert(!sending.isDone)
      for (number <- 0L until most) {
        val numbers.Stream.Send(received, next) = stream.recv()
        if (received != number) fail("expected " + number.toString + ", not " + received.toString)
        stream = next
      }
      assertEquals(intercept[SessionClosed](stream.recv(): Unit).why, Why.Left: Why)
      await(sending)
      listener.close()
      here.close()
      there.close()
    }
  }

  private def broker(server: Server): NatsBroker =
    NatsBroker.connect(server.address, identity, System.nanoTime() + TimeUnit.SECONDS.toNanos(Patience))

  /** Counts what arrives, once it may. */
  private final class Counting(opens: CountDownLatch) extends Inbox {
    val (short, long) = (new AtomicInteger, new AtomicInteger)
    def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit = {
      opens.await()
      (if (message.length > 1) long else short).incrementAndGet(): Unit
    }
    def unanswered(subject: String): Unit = ()
    def lost(): Unit = ()
  }

  test("what an inbox does not take in time is bounded") {
    at() { server =>
      val here = broker(server)
      val opens = new CountDownLatch(1)
      val (slow, fast) = (new Counting(opens), new Counting(new CountDownLatch(0)))
      here.subscribe("duo.at.slow", None, slow): Unit
      here.subscribe("duo.at.fast", None, fast): Unit
      val (message, mark) = (new Array[Byte](1 << 20), Array[Byte](1))
      for (number <- 1 to 80) {
        here.publish("duo.at.slow", None, message)
        // When this has arrived, so has the message.
        here.publish("duo.at.fast", None, mark)
        eventually(fast.short.get == number)
      }
      opens.countDown()
      eventually {
        here.publish("duo.at.slow", None, mark)
        slow.short.get > 0
      }
      assert(slow.long.get >= 63 && slow.long.get < 70, slow.long.get.toString)
      here.close()
    }
  }

  /** Whether a flush waits for a server that accepts nothing. */
  private def waits(broker: NatsBroker, server: Server): Boolean = {
    server.signal("STOP")
    val begin = System.nanoTime()
    try broker.flush()
    finally server.signal("CONT")
    System.nanoTime() - begin >= TimeUnit.MILLISECONDS.toNanos(400L)
  }

  test("after a server that has accepted nothing for a while, or was restarted, threads wait until it has everything, as before") {
    at() { server =>
      val here = broker(server)
      assert(waits(here, server))
      eventually(waits(here, server))
      server.signal("STOP")
      val flushing = spawn(here.flush())
      Thread.sleep(100L)
      server.kill()
      await(flushing)
      server.restart()
      eventually(here.isConnected && waits(here, server))
      here.close()
    }
  }

  test("the connection stays when many sessions end at the same time") {
    at() { server =>
      val interruptions = new AtomicInteger
      val listening: ConnectionListener = (_, event) =>
        if (event eq ConnectionListener.Events.DISCONNECTED) interruptions.incrementAndGet(): Unit
      val here = Nats.exchange(server.address, _.connectionListener(listening))
      val listener = serving(Listener.through(here, "bank"))
      val customers = Vector.fill(16)(spawn(for (_ <- 1 to 20) customer(connectThrough(bank.client, here, "bank", patient), 0)))
      customers.foreach(await(_))
      assertEquals(interruptions.get, 0)
      listener.close()
      here.close()
    }
  }

  test("what is published before the connection is closed arrives") {
    at() { server =>
      val (here, there) = (broker(server), broker(server))
      val inbox = new Counting(new CountDownLatch(0))
      there.subscribe("duo.at.there", None, inbox): Unit
      there.flush()
      val message = new Array[Byte](1 << 20)
      for (_ <- 1 to 8) here.publish("duo.at.there", None, message)
      here.close()
      eventually(inbox.long.get == 8)
      there.close()
    }
  }

  /** Whether each number follows those before it, or has arrived before. */
  private final class Following extends Inbox {
    @volatile var last = 0
    @volatile var holds = true
    def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit = {
      val number = ByteBuffer.wrap(message).getInt
      if (number > last + 1) holds = false
      last = math.max(last, number)
    }
    def unanswered(subject: String): Unit = ()
    def lost(): Unit = ()
  }

  test("what an interrupted thread publishes arrives, in order") {
    at() { server =>
      val (here, there) = (broker(server), broker(server))
      val inbox = new Following
      there.subscribe("duo.at.there", None, inbox): Unit
      there.flush()
      val most = 20000
      val publisher = new Thread(() => {
        for (number <- 1 to most) {
          here.publish("duo.at.there", None, ByteBuffer.allocate(4).putInt(number).array)
          if (number % 4 == 0) {
            // Meanwhile, what is left to the other thread is published, so that this one publishes again.
            val end = System.nanoTime() + 40000L
            while (System.nanoTime() < end) Thread.onSpinWait()
            Thread.interrupted(): Unit
          }
        }
      })
      publisher.start()
      while (publisher.isAlive) {
        publisher.interrupt()
        LockSupport.parkNanos(10000L)
      }
      eventually(inbox.last == most)
      assert(inbox.holds)
      here.close()
      there.close()
    }
  }
}
