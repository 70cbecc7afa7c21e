package cases

import com.sun.management.OperatingSystemMXBean
import duologue.{SessionClosed, Why}
import duologue.net.{Limits, Listener, Tls}
import java.lang.management.ManagementFactory
import java.nio.ByteBuffer
import java.nio.file.Path
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicIntegerArray
import javax.net.ssl.{SSLContext, SSLEngine}
import javax.net.ssl.SSLEngineResult.HandshakeStatus
import protocols.pingpong
import scala.concurrent.duration.DurationInt

/** Many sessions of `pingpong` at once, with a virtual thread for each: `load server ADDRESS SESSIONS TURNS`; and
  * connections of the TLS library alone: `load library - CONNECTIONS 0`. The program `load` of tests/conversations describes what they print, and is the client. A Java without virtual
  * threads uses others. `DUOLOGUE_TLS` is a folder with certificates, for addresses of TLS and for the library.
  */
object Load {
  private val virtual =
    try Some(classOf[Thread].getMethod("startVirtualThread", classOf[Runnable]))
    catch { case _: NoSuchMethodException => None }

  private def start(task: Runnable): Unit = virtual match {
    case Some(method) => method.invoke(null, task): Unit
    case None         => new Thread(null, task, "session", 256L << 10).start()
  }

  /** How many bytes of the heap are in use. */
  private def memory(): Long = {
    for (_ <- 1 to 3) System.gc()
    Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory
  }

  /** How long the threads of the process have run, in nanoseconds. */
  private def processorTime(): Long = ManagementFactory.getOperatingSystemMXBean match {
    case system: OperatingSystemMXBean => system.getProcessCpuTime
    case _                             => 0L
  }

  private final class Counts(sessions: Int, turns: Int) {
    private val ofSession = new AtomicIntegerArray(sessions)
    val open = new CountDownLatch(sessions)
    val done = new CountDownLatch(sessions)

    def add(session: Int): Unit = {
      val now = ofSession.incrementAndGet(session)
      if (now == 1) open.countDown()
      if (now == 1 + turns) done.countDown()
    }

    def all: Seq[Int] = (0 until sessions).map(ofSession.get(_))
  }

  @scala.annotation.tailrec
  private def answer(ping: pingpong.server.Ping, session: Int, counts: Counts): Unit = {
    val pingpong.Ping.Ping(pong) = ping.recv()
    counts.add(session)
    answer(pong.pong(), session, counts)
  }

  private def say(line: String): Unit = {
    println(line)
    System.out.flush()
  }

  def main(arguments: Array[String]): Unit = {
    val (address, sessions, turns) = (arguments(1), arguments(2).toInt, arguments(3).toInt)
    arguments(0) match {
      case "library" => connectAlone(sessions)
      case _         => serve(address, sessions, turns)
    }
  }

  /** One side of a connection, with the settings that sessions have. */
  private def engine(context: SSLContext, isClient: Boolean): SSLEngine = {
    val made = if (isClient) context.createSSLEngine("localhost", 1) else context.createSSLEngine()
    // Longer than a ticket may be valid, so that there is none.
    context.getServerSessionContext.setSessionTimeout(604801)
    made.setUseClientMode(isClient)
    made.setEnabledProtocols(Array("TLSv1.3"))
    if (!isClient) made.setNeedClientAuth(true)
    made
  }

  private val buffers = Vector.fill(3)(ByteBuffer.allocate(1 << 16))

  /** One step of a side's handshake: reads what the other side has written, and writes to it. */
  private def step(one: SSLEngine, in: ByteBuffer, out: ByteBuffer): Unit = {
    val status = one.getHandshakeStatus
    if (status eq HandshakeStatus.NEED_TASK) one.getDelegatedTask.run()
    else if (status eq HandshakeStatus.NEED_WRAP) one.wrap(ByteBuffer.allocate(0), out): Unit
    else {
      one.unwrap(in.flip(), buffers(2).clear()): Unit
      in.compact(): Unit
    }
  }

  /** One byte in a record of its own. */
  private def pass(from: SSLEngine, to: SSLEngine): Unit = {
    val wire = buffers(0).clear()
    from.wrap(ByteBuffer.allocate(1), wire): Unit
    require(to.unwrap(wire.flip(), buffers(2).clear()).bytesProduced == 1)
  }

  /** What the accepting side of a connection takes without a session. */
  private def connectAlone(connections: Int): Unit = {
    val (clients, servers) = (context("client"), context("server"))
    val all = new Array[SSLEngine](connections)
    val before = memory()
    for (number <- 0 until connections) {
      val (client, server) = (engine(clients, isClient = true), engine(servers, isClient = false))
      val (up, down) = (buffers(0).clear(), buffers(1).clear())
      client.beginHandshake()
      server.beginHandshake()
      while (List(client, server).exists(_.getHandshakeStatus ne HandshakeStatus.NOT_HANDSHAKING)) {
        step(client, down, up)
        step(server, up, down)
      }
      pass(client, server)
      pass(server, client)
      all(number) = server
    }
    say("memory " + ((memory() - before) / connections).toString)
    require(all.forall(!_.isInboundDone))
  }

  /** The certificates of the server, from the folder that the environment names, if it names one. */
  private def certificates: Option[SSLContext] = Option(System.getenv("DUOLOGUE_TLS")).map(_ => context("server"))

  private def context(party: String): SSLContext = {
    val folder = Path.of(System.getenv("DUOLOGUE_TLS"))
    Tls.context(folder.resolve("ca.pem"), folder.resolve(party + ".pem"), folder.resolve(party + ".key"))
  }

  private def serve(address: String, sessions: Int, turns: Int): Unit = {
    val listener = Listener(address, Limits(sessions = sessions), certificates)
    say("listening " + listener.address)
    val counts = new Counts(sessions, turns)
    val ended = new CountDownLatch(sessions)
    val before = memory()
    for (session <- 0 until sessions) {
      val ping = listener.accept(pingpong.server)
      start { () =>
        try answer(ping, session, counts)
        catch { case closed: SessionClosed if closed.why == Why.Lost => ended.countDown() }
      }
    }
    counts.open.await()
    say("memory " + ((memory() - before) / sessions).toString)
    counts.done.await()
    val ofSession = counts.all.sorted
    say("turns " + ofSession(sessions / 2).toString + " " + ofSession.last.toString)
    val (began, used) = (System.nanoTime(), processorTime())
    // The drain ends the sessions, and their threads find that.
    require(!listener.drain(0.seconds))
    ended.await()
    while (listener.size > 0) Thread.sleep(1L)
    val times = List(System.nanoTime() - began, processorTime() - used)
    say("drained " + times.map(_ / 1000000L).mkString(" "))
  }
}
