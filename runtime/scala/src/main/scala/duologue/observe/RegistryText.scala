package duologue

import duologue.Registry.{Blocked, Session, Side, Snapshot}

/** The registry as text and as JSON. */
private[duologue] object RegistryText {

  // ---- for people

  /** Each deadlock, and each session with its sides, in lines of their own. */
  def human(snapshot: Snapshot): String = {
    val text = new StringBuilder
    snapshot.deadlocks.foreach { circle =>
      text ++= "deadlock: " + (circle :+ circle.head).map(_.owner).mkString(" -> ") + "\n"
      circle.foreach { one =>
        text ++= "    " + one.owner + " waits " + seconds(one.waits) + " in session #" + one.session + " as its " +
          side(one.isClient) + ", in " + one.state.getOrElse("the end") + ", for " + one.awaited + "\n"
      }
    }
    snapshot.sessions.foreach { session =>
      text ++= line(session)
      session.sides.foreach(text ++= line(_))
    }
    text.result()
  }

  private def line(session: Session): String = {
    val messages = session.messages.toString + (if (session.messages == 1L) " message" else " messages")
    session.state match {
      case Some(state) =>
        "#" + session.name + " " + state + " waits " + seconds(session.waits) + " for the " + side(session.isClientsTurn) + ", " + messages + "\n"
      case None =>
        "#" + session.name + " " + session.protocol + " is over, but not received for " + seconds(session.waits) + ", " + messages + "\n"
    }
  }

  private def line(one: Side): String = {
    val start = "    " + side(one.isClient) + " in " + one.state.getOrElse("the end") + ": " + one.owner.getOrElse("not used yet")
    val what = if (one.forSpace) "space" else "a message"
    val waits = one.waits.fold("")(nanos => " waits " + seconds(nanos) + " for " + what)
    start + (if (one.hasLeft) " has left" else waits + ", " + one.inFlight.toString + " in flight to it") + "\n"
  }

  private def seconds(nanos: Long): String = {
    val tenths = nanos / 100000000L
    (tenths / 10L).toString + "." + (tenths % 10L).toString + " s"
  }

  private def side(isClient: Boolean): String = if (isClient) "client" else "server"

  // ---- JSON

  def json(snapshot: Snapshot): String = {
    val text = new StringBuilder
    text ++= "{\"format\":1,\"language\":\"scala\",\"process\":" + ProcessHandle.current.pid.toString + ",\"sessions\":["
    list(text, snapshot.sessions)(write(text, _))
    text ++= "],\"deadlocks\":["
    list(text, snapshot.deadlocks) { circle =>
      text ++= "{\"waits\":["
      list(text, circle)(write(text, _))
      text ++= "]}"
    }
    text ++= "]}"
    text.result()
  }

  private def list[T](text: StringBuilder, items: Vector[T])(write: T => Unit): Unit =
    items.iterator.zipWithIndex.foreach { case (item, at) =>
      if (at > 0) text += ','
      write(item)
    }

  private def write(text: StringBuilder, session: Session): Unit = {
    text ++= "{\"session\":" + quoted(session.name) + ",\"protocol\":" + quoted(session.protocol) + ",\"state\":" +
      orNull(session.state) + ",\"turn\":" + quoted(side(session.isClientsTurn)) + ",\"waits\":" + millis(session.waits) +
      ",\"messages\":" + session.messages.toString + ",\"sides\":["
    list(text, session.sides)(write(text, _))
    text ++= "]}"
  }

  private def write(text: StringBuilder, one: Side): Unit = {
    val what = if (one.waits.isEmpty) "null" else if (one.forSpace) "\"space\"" else "\"message\""
    text ++= "{\"side\":" + quoted(side(one.isClient)) + ",\"state\":" + orNull(one.state) + ",\"owner\":" + orNull(one.owner) +
      ",\"waits\":" + one.waits.fold("null")(millis) + ",\"for\":" + what + ",\"in_flight\":" + one.inFlight.toString +
      ",\"left\":" + one.hasLeft.toString + "}"
  }

  private def write(text: StringBuilder, one: Blocked): Unit =
    text ++= "{\"owner\":" + quoted(one.owner) + ",\"session\":" + quoted(one.session) + ",\"side\":" +
      quoted(side(one.isClient)) + ",\"state\":" + orNull(one.state) + ",\"waits\":" + millis(one.waits) + ",\"awaited\":" +
      quoted(one.awaited) + "}"

  private def millis(nanos: Long): String = (nanos / 1000000L).toString

  private def orNull(text: Option[String]): String = text.fold("null")(quoted)

  /** A string of JSON. The names of threads may have any characters. */
  private def quoted(text: String): String = {
    val out = new StringBuilder("\"")
    text.foreach {
      case letter @ ('"' | '\\')                                     => out += '\\' += letter
      case letter if letter < ' ' || Character.isSurrogate(letter) => out ++= "\\u" ++= hexadecimal(letter.toInt)
      case letter                                                  => out += letter
    }
    (out += '"').result()
  }

  private def hexadecimal(number: Int): String = {
    val digits = Integer.toHexString(number)
    "0" * (4 - digits.length) + digits
  }
}
