package duologue.net

import duologue.{Bytes, PortSet, Why, abandon, trySend}
import java.nio.channels.ClosedChannelException
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger
import protocols.{bank, telemetry}
import scala.annotation.tailrec
import scala.concurrent.duration.{Duration, DurationInt, DurationLong}

/** Listeners that drain: what ends, what is waited for, and sessions that begin at the same moment. */
final class DrainSuite extends BankSuite {

  private def begun(listener: Listener): (bank.server.Login, bank.client.Login) = meet(bank.server, bank.client, listener)

  private def logIn(session: (bank.server.Login, bank.client.Login)): (bank.server.Connected, bank.client.Connected) = {
    val waiting = session._2.login("holk", "1234")
    (teller(session._1), accepted(waiting))
  }

  /** Without `assert`, which has a lock of the suite while it evaluates its condition. */
  private def pass(latch: CountDownLatch): Unit =
    if (!latch.await(Patience, TimeUnit.SECONDS)) throw new AssertionError("nobody has opened the gate")

  test("a drain ends sessions that were accepted") {
    val listener = Listener(freshAddress())
    val (receives, client) = begun(listener)
    val idle = logIn(begun(listener))
    val (sends, withdraws) = logIn(begun(listener))
    val waiting = withdraws.withdrawal(1.0)
    val answer = sends.recv() match {
      case bank.Connected.Withdrawal(_, answer) => answer
      case other                                => fail(other.toString)
    }
    val receiving = spawn(why(receives.recv()))
    val set = PortSet[bank.Connected, String]()
    set.add(idle._1, "idle")
    val inSet = spawn(set.recv())
    receiving.waits()
    inSet.waits()
    assert(!listener.drain(Duration.Zero))
    assertEquals(await(receiving), Why.Lost)
    await(inSet) match {
      case PortSet.Closed(name, found) => assertEquals((name, found.why), ("idle", Why.Lost: Why))
      case other                       => fail(other.toString)
    }
    assertEquals(why(answer.money(1.0)), Why.Lost)
    assertEquals(why(waiting.recv()), Why.Left)
    assertEquals(why(idle._2.withdrawal(1.0).recv()), Why.Left)
    assertEquals(why(client.login("holk", "1234").recv()), Why.Left)
    eventually(listener.size == 0)
    assert(listener.drain(Patience.seconds), "none is left")
    intercept[ClosedChannelException](listener.accept(bank.server)): Unit
  }

  test("a drain ends sessions that nobody has accepted yet") {
    val listener = Listener(freshAddress())
    val first = begun(listener)
    val waiting = connect(bank.client, listener.address)
    eventually(listener.size == 2)
    assert(!listener.drain(Duration.Zero))
    assertEquals(why(waiting.login("holk", "1234").recv()), Why.Left)
    // An ended session is not accepted.
    intercept[ClosedChannelException](listener.accept(bank.server)): Unit
    assertEquals(why(first._1.recv()), Why.Lost)
    eventually(listener.size == 0)
  }

  test("a drain ends a session that cannot be written") {
    val listener = Listener(freshAddress())
    val (sender, reader) = meet(telemetry.client, telemetry.server, listener)
    val data = Bytes.copyOf(new Array[Byte](1 << 16))
    @tailrec def fill(sender: telemetry.client.Report): telemetry.client.Report = trySend(sender)(_.raw(true, "", data)) match {
      case Some(next) => fill(next)
      case None       => sender
    }
    val full = fill(sender)
    val sending = spawn(why(full.raw(true, "", data)))
    sending.waits()
    assert(!listener.drain(Duration.Zero))
    assertEquals(await(sending), Why.Lost)
    // Its connection is closed though the peer does not read.
    turn(hours = 1)
    eventually(listener.size == 0)
    abandon(reader)
  }

  test("a session that was admitted before the drain begins is waited for") {
    val (isAdmitting, drains) = (new CountDownLatch(1), new CountDownLatch(1))
    val listener = Listener(freshAddress())
    val acceptor = listener.acceptor(bank.server) { _ =>
      val isFirst = isAdmitting.getCount > 0L
      isAdmitting.countDown()
      if (isFirst) pass(drains)
      Option.when(isFirst)(())
    }
    val client = spawn(connect(bank.client, listener.address))
    pass(isAdmitting)
    val draining = spawn(listener.drain(Patience.seconds))
    eventually(
      try {
        abandon(connect(bank.client, listener.address))
        false
      } catch { case refused: Refused => refused.verdict == Verdict.Draining }
    )
    drains.countDown()
    val (server, connected) = logIn((acceptor.accept()._1, await(client)))
    assert(!draining.isDone)
    connected.quit()
    assertEquals(server.recv(), bank.Connected.Quit: bank.Connected)
    assert(await(draining))
  }

  /** Sessions whose observer, called as they begin, waits until others are being ended. */
  private final class Gate(count: Int) extends Observer {
    val (isEnding, haveBegun) = (new CountDownLatch(1), new CountDownLatch(1))
    val waiting = new AtomicInteger
    private val sessions = new AtomicInteger

    override def began(session: Observer.Session): Unit =
      if (sessions.incrementAndGet() > 1) {
        waiting.incrementAndGet(): Unit
        pass(isEnding)
      }

    // In the thread that drains, while it ends the first session.
    override def ended(session: Observer.Session, end: Observer.End): Unit =
      if (isEnding.getCount > 0L) {
        isEnding.countDown()
        pass(haveBegun)
      }

    def eachWaits: Boolean = waiting.get == count
  }

  test("sessions that begin while a drain ends the others are ended, too") {
    val late = 8
    val gate = new Gate(late)
    val listener = Listener(freshAddress(), observer = Some(gate))
    val acceptor = listener.acceptor(bank.server)(_ => Some(()))
    val first = connect(bank.client, listener.address)
    val served = acceptor.accept()._1
    val clients = Vector.fill(late)(spawn(connect(bank.client, listener.address)))
    eventually(gate.eachWaits)
    val draining = spawn(listener.drain(Duration.Zero))
    // They begin now, and are accepted before the drain goes on.
    val servers = Vector.fill(late)(acceptor.accept()._1)
    gate.haveBegun.countDown()
    val hadEnded = await(draining)
    assert(!hadEnded)
    for (server <- served +: servers) assertEquals(await(spawn(why(server.recv()))), Why.Lost)
    for (client <- first +: clients.map(await(_))) assertEquals(why(client.login("a", "b").recv()), Why.Left)
    eventually(listener.size == 0)
  }

  /** How many times a listener ends while others connect. */
  private val rounds = Integer.getInteger("duologue.rounds", 50).intValue
  override def munitTimeout: Duration = (30 + rounds).seconds

  test("no session outlives a drain that begins while others connect and are accepted") {
    val before = Thread.getDefaultUncaughtExceptionHandler
    val thrown = new ConcurrentLinkedQueue[Throwable]
    Thread.setDefaultUncaughtExceptionHandler((_, failure) => thrown.add(failure): Unit)
    try
      for (round <- 1 to rounds) {
      val listener = Listener(freshAddress())
      val served = new ConcurrentLinkedQueue[bank.server.Login]
      val begun = new ConcurrentLinkedQueue[bank.client.Login]
      val accepting = spawn {
        try while (true) served.add(listener.accept(bank.server)): Unit
        catch { case _: ClosedChannelException => () }
      }
      val connecting = Vector.fill(3)(spawn {
        try while (true) begun.add(connect(bank.client, listener.address)): Unit
        catch { case _: Refused | _: ConnectFailed => () }
      })
      eventually(begun.size >= round % 7)
      // Every other one is closed first, while connections come.
      if (round % 2 == 0) listener.close()
      listener.drain((round % 3).millis): Unit
      await(accepting)
      connecting.foreach(await(_))
      served.forEach(server => assertEquals(await(spawn(why(server.recv()))), Why.Lost))
      begun.forEach(client => assertEquals(await(spawn(why(client.login("a", "b").recv()))), Why.Left))
      eventually(listener.size == 0)
    }
    finally Thread.setDefaultUncaughtExceptionHandler(before)
    assert(thrown.isEmpty, thrown.toString)
  }
}
