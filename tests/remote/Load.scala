package cases

import com.sun.management.OperatingSystemMXBean
import duologue.{SessionClosed, Why}
import duologue.net.{Limits, Listener, Observer, Tls}
import java.lang.management.ManagementFactory
import java.net.SocketTimeoutException
import java.nio.file.Path
import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue}
import java.util.concurrent.atomic.{AtomicInteger, AtomicIntegerArray}
import javax.net.ssl.SSLContext
import protocols.pingpong
import scala.concurrent.duration.DurationInt

/** Many sessions of `pingpong` at once, with a virtual thread for each: `load server ADDRESS SESSIONS TURNS`; and many connections that
  * do not become sessions: `load guard ADDRESS CONNECTIONS VISITS`. The program `load` of tests/conversations describes what they
  * print, and is the client. A Java without virtual threads uses others. For addresses of TLS,
  * `DUOLOGUE_TLS` is a folder with certificates.
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
    private val total = new AtomicInteger
    private val ofSession = new AtomicIntegerArray(sessions)
    val open = new CountDownLatch(1)
    val done = new CountDownLatch(1)

    def add(session: Int): Unit = {
      ofSession.incrementAndGet(session): Unit
      val now = total.incrementAndGet()
      if (now == sessions) open.countDown()
      if (now == sessions * (1 + turns)) done.countDown()
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

  /** Whether each connection that did not become a session was late. */
  private final class Refusals extends Observer {
    val all = new LinkedBlockingQueue[Boolean]
    override def refused(refusal: Observer.Refusal): Unit =
      all.add(refusal.failure.exists(_.isInstanceOf[SocketTimeoutException])): Unit
  }

  /** Answers until the client leaves. */
  @scala.annotation.tailrec
  private def answerAll(ping: pingpong.server.Ping): Unit = {
    val pingpong.Ping.Ping(pong) = ping.recv()
    answerAll(pong.pong())
  }

  /** Serves sessions while other connections, of which half may wait, are silent. */
  private def guard(address: String, connections: Int): Unit = {
    val refusals = new Refusals
    val limits = Limits(silent = connections / 2, hello = 3.seconds)
    val listener = Listener(address, limits, observer = Some(refusals)).serve(pingpong.server)(answerAll(_)).start()
    say("listening " + listener.address)
    val late = Iterator.continually(refusals.all.take()).take(connections).count(identity)
    say("refused " + late.toString + " " + (connections - late).toString)
    System.in.read(): Unit
    listener.close()
  }

  def main(arguments: Array[String]): Unit = {
    val (address, sessions, turns) = (arguments(1), arguments(2).toInt, arguments(3).toInt)
    if (arguments(0) == "guard") guard(address, sessions) else serve(address, sessions, turns)
  }

  /** The certificates of the server, from the folder that the environment names, if it names one. */
  private def certificates: Option[SSLContext] = Option(System.getenv("DUOLOGUE_TLS")).map { name =>
    val folder = Path.of(name)
    Tls.context(folder.resolve("ca.pem"), folder.resolve("server.pem"), folder.resolve("server.key"))
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
    val ofSession = counts.all
    say("turns " + ofSession.min.toString + " " + ofSession.max.toString)
    val (began, used) = (System.nanoTime(), processorTime())
    // The drain ends the sessions, and their threads find that.
    require(!listener.drain(0.seconds))
    ended.await()
    while (listener.size > 0) Thread.sleep(1L)
    val times = List(System.nanoTime() - began, processorTime() - used)
    say("drained " + times.map(_ / 1000000L).mkString(" "))
  }
}
