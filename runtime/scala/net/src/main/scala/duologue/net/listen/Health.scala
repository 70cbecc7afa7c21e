package duologue.net

import duologue.{Recording, SessionClosed, abandon}
import duologue.net.healthprotocol.{health, healthTypes}
import scala.concurrent.duration.DurationInt

/** Which services of a server can be used. A listener serves this next to the protocols of the program, at the same address:
  * [[Listener.health]]. The whole server has the empty name, and can be used unless the program says otherwise; all other names are
  * those that the program sets.
  *
  * {{{
  * val health = new Health
  * listener.health(health)
  * health.set("bank", Health.Serving)
  *
  * // A client:
  * Health.check("unix:/run/bank.sock", "bank")
  * }}}
  *
  * The protocol is `runtime/health.proto`, so the other side may be written in another language. Any thread may use it.
  */
final class Health {
  private val lock = new Object
  private var statuses = Map("" -> Health.Serving)

  /** Sets the status of a service, or with an empty name of the whole server, and notifies all clients that watch it.
    * [[Health.Unknown]] removes a service.
    */
  def set(service: String, status: Health.Status): Unit = lock.synchronized {
    statuses =
      if (status == Health.Unknown && service.nonEmpty) statuses - service
      else statuses.updated(service, status)
    lock.notifyAll()
  }

  /** The status of a service, or with an empty name of the whole server. */
  def status(service: String): Health.Status = lock.synchronized(statuses.getOrElse(service, Health.Unknown))

  override def toString: String = lock.synchronized(statuses).mkString("Health(", ", ", ")")

  /** A listener that serves this drains, as its state already says. */
  private[net] def wake(): Unit = lock.synchronized(lock.notifyAll())

  /** Answers one client. */
  private[net] def serve(first: health.server.Ask, isDraining: () => Boolean): Unit = {
    var ask = Option(first)
    var looks = 0
    while (ask.nonEmpty)
      ask = ask.get.recvWithin(Health.Look) match {
        case Some(health.Ask.Check(service, answer))        => reply(answer, next(service, None, isDraining))
        case Some(health.Ask.Wait(service, status, answer)) => reply(answer, next(service, Some(status), isDraining))
        case Some(health.Ask.Quit)                          => None
        // The listener closes the session.
        case None =>
          if (isDraining()) looks += 1
          ask.filter(_ => looks <= Health.LastLooks)
      }
  }

  private def reply(answer: health.server.Answer, status: Option[Health.Status]): Option[health.server.Ask] =
    status match {
      case Some(known) => Some(answer.status(known))
      case None =>
        answer.draining()
        None
    }

  /** The status of a service, once it is not `known` or the period has passed. None if the listener drains. */
  private def next(service: String, known: Option[Health.Status], isDraining: () => Boolean): Option[Health.Status] =
    lock.synchronized {
      val deadline = System.nanoTime() + Health.Period
      var left = Health.Period
      while (!isDraining() && left > 0L && known.contains(status(service))) {
        lock.wait(left / 1000000L + 1L)
        left = deadline - System.nanoTime()
      }
      if (isDraining()) None else Some(status(service))
    }
}

object Health {
  // A log and a registry would have sessions whose protocol the program does not have.
  Recording.leaveOut(health.client.$protocol)

  /** How long a client that waits for a change has no answer, in nanoseconds. */
  private val Period = 20000000000L

  /** How often the server checks whether it drains, while it is the client's turn, which is never long for most clients. */
  private val Look = 100.millis

  /** How many times it does so after it has begun to drain: a client that handles a change can still ask, and learns it. */
  private val LastLooks = 5

  /** Whether a service, or the whole server, can be used. */
  type Status = healthTypes.Status

  /** There is no service with this name. */
  val Unknown: Status = healthTypes.Status.Unknown

  /** It can be used. */
  val Serving: Status = healthTypes.Status.Serving

  /** It cannot be used at the moment. */
  val NotServing: Status = healthTypes.Status.NotServing

  /** Asks the server at this address for the status of a service, or with an empty name of the whole server. A server that drains is
    * [[NotServing]]. The name has at most 256 bytes. Throws as [[connect]] and `recv` do.
    */
  def check(address: String, service: String = "", options: ConnectOptions = ConnectOptions()): Status = {
    val watch = this.watch(address, service, options)
    try watch.next()
    finally watch.close()
  }

  /** Like [[check]], and returns every status that follows, too. */
  def watch(address: String, service: String = "", options: ConnectOptions = ConnectOptions()): Watch = {
    val ask =
      try Some(connect(health.client, address, options))
      catch { case refused: Refused if refused.verdict == Verdict.Draining => None }
    new Watch(ask, service)
  }

  /** The statuses of a service, from now on. The first one is the current one, and each differs from the one before. The last one is
    * [[NotServing]] if the server drains; if the session ends otherwise, `hasNext` and `next` throw `SessionClosed`. Both wait.
    * A server that says nothing for a minute is late, and so is a program that does not call them within a minute. Closing it, which any thread may do, ends the session.
    */
  final class Watch private[net] (first: Option[health.client.Ask], service: String) extends Iterator[Status] with AutoCloseable {
    @volatile private var ask = first
    private var last = Option.empty[Status]
    private var found = if (first.isEmpty) Some(NotServing) else None

    override def hasNext: Boolean = {
      while (found.isEmpty && ask.nonEmpty) found = Some(receive(ask.get)).filterNot(last.contains(_))
      found.nonEmpty
    }

    override def next(): Status = {
      if (!hasNext) throw new NoSuchElementException("the server drains")
      last = found
      found = None
      last.get
    }

    override def close(): Unit = ask.foreach { ask =>
      try ask.quit()
      catch { case _: SessionClosed | _: duologue.EndpointUsed => abandon(ask) }
    }

    private def receive(asking: health.client.Ask): Status = {
      val answer =
        try last.fold(asking.check(service))(asking.wait_(service, _)).recv()
        catch {
          // It was closed, or the session has ended before.
          case _: duologue.EndpointUsed => throw new SessionClosed("health", "ask", isByPeer = false)
        }
      answer match {
        case health.Answer.Status(status, next) =>
          ask = Some(next)
          status
        case health.Answer.Draining =>
          ask = None
          NotServing
      }
    }
  }
}
