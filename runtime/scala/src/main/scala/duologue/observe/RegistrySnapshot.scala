package duologue

import duologue.Registry.{Blocked, Session, Side, Snapshot}
import scala.collection.mutable
import scala.jdk.CollectionConverters.ListHasAsScala

/** What the registry knows at one moment, and the deadlocks in it. */
private[duologue] object RegistrySnapshot {

  def now(): Snapshot = {
    val all = Registered.all().asScala.toVector
    val now = System.nanoTime()
    val sessions = all.map(session(_, now))
    new Snapshot(sessions, deadlocks(sessions))
  }

  private def session(one: Registered, now: Long): Session = {
    val isHere = one.client.isNear && one.server.isNear
    // The side that knows of more messages knows the session's state.
    val first = if (isHere) one.client.messages >= one.server.messages else one.client.isNear
    val ahead = if (first) one.client else one.server
    val sides = if (isHere) Vector(side(one, isClient = true, now), side(one, isClient = false, now)) else Vector()
    new Session(
      (if (isHere) "" else "socket-") + one.number.toString,
      one.protocol,
      Option(ahead.state).map(one.protocol + "." + _),
      ahead.speaks == first,
      math.max(0L, now - one.since),
      ahead.messages,
      sides
    )
  }

  private def side(one: Registered, isClient: Boolean, now: Long): Side = {
    val (own, other) = if (isClient) (one.client, one.server) else (one.server, one.client)
    val sent = if (other.sends) other.sent + 1 else other.sent
    new Side(
      isClient,
      Option(own.state).map(one.protocol + "." + _),
      Option(own.owner),
      if (own.waits) Some(math.max(0L, now - own.since)) else None,
      own.forSpace,
      own.isPassive,
      math.max(0L, sent - own.received),
      own.hasLeft
    )
  }

  /** A thread that waits, and the one that it waits for, if that is known. */
  private type Waiting = (Blocked, Option[String])

  /** A thread that waits in several sessions goes on as soon as one of them is ready. So first everything is left out that may still go on:
    * what waits for one that does not wait, or that is left out itself. Each of the others waits only for others, and so following them
    * from any one leads into a circle.
    */
  def deadlocks(sessions: Vector[Session]): Vector[Vector[Blocked]] = {
    val waiting = mutable.TreeMap.empty[String, Vector[Waiting]]
    for {
      session <- sessions
      (side, other) <- session.sides.zip(session.sides.reverse)
      (owner, one) <- blocked(session, side, other)
    } waiting(owner) = waiting.getOrElse(owner, Vector()) :+ one
    leaveOut(waiting)
    circles(waiting)
  }

  private def blocked(session: Session, side: Side, other: Side): Option[(String, Waiting)] = {
    val isStuck = if (side.forSpace) other.inFlight > 0L else side.inFlight == 0L
    for {
      owner <- side.owner
      waits <- side.waits
      if isStuck && !side.hasLeft && !other.hasLeft && !side.isPassive
    } yield owner -> (new Blocked(owner, session.name, side.isClient, side.state, waits, other.owner.getOrElse("")) -> other.owner)
  }

  /** Leaves out what may still go on. */
  private def leaveOut(waiting: mutable.Map[String, Vector[Waiting]]): Unit = {
    val waiters = mutable.Map.empty[String, List[String]]
    var free = List.empty[String]
    for {
      (owner, waits) <- waiting
      (_, awaited) <- waits
    } awaited match {
      case Some(other) if waiting.contains(other) => waiters(other) = owner :: waiters.getOrElse(other, Nil)
      case _                                      => free = owner :: free
    }
    while (free.nonEmpty) {
      val owner = free.head
      free = free.tail
      if (waiting.remove(owner).nonEmpty) free = waiters.remove(owner).getOrElse(Nil) ::: free
    }
  }

  private def circles(waiting: mutable.Map[String, Vector[Waiting]]): Vector[Vector[Blocked]] = {
    val seen = mutable.Set.empty[String]
    val found = Vector.newBuilder[Vector[Blocked]]
    waiting.keys.toVector.foreach { start =>
      val path = Vector.newBuilder[Blocked]
      var owner = start
      // Ends at one that was seen, which is on this path if the circle is a new one.
      while (seen.add(owner)) {
        val (one, awaited) = waiting(owner).head
        path += one
        owner = awaited.getOrElse("")
      }
      val circle = path.result().dropWhile(_.owner != owner)
      if (circle.nonEmpty) found += circle
    }
    found.result()
  }
}
