package duologue

import java.lang.ref.Reference

/** What generated code calls. Programs do not need it. */
object generated {

  /** The two sides of a new session, before their first endpoints. */
  final class Start private[generated] (val server: Endpoint, val client: Endpoint)

  private final class Seed(side: Side) extends Endpoint(side, -1L) {
    def $state(): String = ""
  }

  /** Starts sessions. The name contains the version of this runtime: code that was generated for another one does not compile,
    * and the compiler's error names the version that it needs.
    */
  object runtime_0_1 {

    /** A new session. `capacity` is the longest run of the protocol, or 0 if a run is unbounded. */
    def start(protocol: String, capacity: Int, clientSpeaks: Boolean): Start = {
      if (RecordFlag.REGISTRY) Registry.begin()
      val pipe = new Pipe(protocol, capacity)
      val server = new Side(pipe, false, !clientSpeaks)
      val client = new Side(pipe, true, clientSpeaks)
      SideState.join(server.state, client.state)
      new Start(new Seed(server), new Seed(client))
    }

    /** A session that is over before its first message. */
    def over(protocol: String): Start = {
      val begun = start(protocol, 1, clientSpeaks = true)
      List(begun.server, begun.client).foreach(endpoint => endpoint.$side.state.finish(): Unit)
      begun
    }
  }

  /** The near side of a session with another process, before its first endpoint. */
  def near(state: RemoteState): Endpoint = {
    if (RecordFlag.REGISTRY) Registry.begin()
    new Seed(state.start())
  }

  /** Writes a `bytes`. */
  def putBytes(out: PayloadWriter, value: Bytes): Unit = putBytes(out, value, Long.MaxValue)

  /** Writes a `bytes` of at most `most` bytes. */
  def putBytes(out: PayloadWriter, value: Bytes, most: Long): Unit = value.unsafeArray match {
    case array: Array[Byte] => out.bytes(array, most)
    case _                  => out.bytes(value.toArray, most)
  }

  /** Reads a `bytes`. */
  def getBytes(in: PayloadReader): Bytes = getBytes(in, Long.MaxValue)

  /** Reads a `bytes` of at most `most` bytes. */
  def getBytes(in: PayloadReader, most: Long): Bytes = scala.collection.immutable.ArraySeq.unsafeWrapArray(in.bytes(most))

  /** Writes a list, whose items take at least `least` bytes each. */
  def putList[T](out: PayloadWriter, least: Long, values: Vector[T])(put: (PayloadWriter, T) => Unit): Unit =
    putList(out, least, Long.MaxValue, values)(put)

  /** Writes a list of at most `most` items. */
  def putList[T](out: PayloadWriter, least: Long, most: Long, values: Vector[T])(put: (PayloadWriter, T) => Unit): Unit = {
    out.enter(values.length, least, most)
    val items = values.iterator
    while (items.hasNext) put(out, items.next())
    out.leave()
  }

  /** Reads a list, whose items take at least `least` bytes each. */
  def getList[T](in: PayloadReader, least: Long)(get: PayloadReader => T): Vector[T] = getList(in, least, Long.MaxValue)(get)

  /** Reads a list of at most `most` items. */
  def getList[T](in: PayloadReader, least: Long, most: Long)(get: PayloadReader => T): Vector[T] = {
    var left = in.enter(least, most)
    val values = Vector.newBuilder[T]
    while (left > 0) {
      values += get(in)
      left -= 1
    }
    in.leave()
    values.result()
  }

  /** Writes an option. */
  def putOption[T](out: PayloadWriter, value: Option[T])(put: (PayloadWriter, T) => Unit): Unit = {
    out.bool(value.isDefined)
    value match {
      case Some(some) => put(out, some)
      case None       =>
    }
  }

  /** Reads an option. */
  def getOption[T](in: PayloadReader)(get: PayloadReader => T): Option[T] = if (in.some()) Some(get(in)) else None

  /** The type of all messages. With strict equality, Scala 3 allows a pattern that names a message without values only if
    * messages can be compared. Messages of all states can be, since one value may be a message of several states.
    */
  trait Message

  object Message {
    implicit val comparable: strict.Equality.Of[Message] = strict.Equality.any
  }

  /** The type of all payload types that a protocol file declares. With strict equality in Scala 3, values of one type can be
    * compared with each other.
    */
  trait Value[V]

  object Value {
    implicit def comparable[V <: Value[V]]: strict.Equality.Of[V] = strict.Equality.any
  }

  /** Sends a message after which the same side sends again. */
  def stay(endpoint: Endpoint, index: Int, payload: Any): Unit = continue(endpoint, index, payload.asInstanceOf[AnyRef], 0L)

  /** Sends a message after which the peer sends. */
  def turn(endpoint: Endpoint, index: Int, payload: Any): Unit = send(endpoint, index, payload, 0L, Pipe.TURN, null)

  /** Sends the last message of a session. */
  def end(endpoint: Endpoint, index: Int, payload: Any): Unit = send(endpoint, index, payload, 0L, Pipe.END, null)

  /** Like `stay`, with a payload that is a single primitive value. */
  def stayNumber(endpoint: Endpoint, index: Int, number: Long): Unit = continue(endpoint, index, null, number)

  /** Like `turn`, with a payload that is a single primitive value. */
  def turnNumber(endpoint: Endpoint, index: Int, number: Long): Unit = send(endpoint, index, null, number, Pipe.TURN, null)

  /** Like `end`, with a payload that is a single primitive value. */
  def endNumber(endpoint: Endpoint, index: Int, number: Long): Unit = send(endpoint, index, null, number, Pipe.END, null)

  /** Like `stay`, with a payload that is built by [[Moving]]. */
  def stay(endpoint: Endpoint, index: Int, payload: => Any, moving: Moving): Unit = {
    val cargo = moving.cargo(payload)
    if (moving.isEmpty) stay(endpoint, index, cargo) else send(endpoint, index, cargo, 0L, Pipe.STAY, moving)
  }

  /** Like `turn`, with a payload that is built by [[Moving]]. */
  def turn(endpoint: Endpoint, index: Int, payload: => Any, moving: Moving): Unit =
    send(endpoint, index, moving.cargo(payload), 0L, Pipe.TURN, moving)

  /** Like `end`, with a payload that is built by [[Moving]]. */
  def end(endpoint: Endpoint, index: Int, payload: => Any, moving: Moving): Unit =
    send(endpoint, index, moving.cargo(payload), 0L, Pipe.END, moving)

  /** Sends in the middle of a run: through the lane, if it is open. */
  private def continue(endpoint: Endpoint, index: Int, payload: AnyRef, number: Long): Unit = {
    if (RecordFlag.ON) Recording.check(endpoint, index)
    val side = endpoint.$side
    val pushed =
      try side.state.push(endpoint.$turn, index, payload, number)
      catch { case thrown: RuntimeException => throw Endpoint.torn(side, endpoint.$turn, endpoint.$state(), thrown) }
    Reference.reachabilityFence(side)
    if (!pushed) send(side, endpoint.$turn, endpoint.$state(), index, payload, number, Pipe.STAY, null)
    if (RecordFlag.ON) Recording.passed(endpoint, index, Recording.Kind.Sent, isLast = false)
  }

  private def send(endpoint: Endpoint, index: Int, payload: Any, number: Long, flags: Int, moving: Moving): Unit = {
    if (RecordFlag.ON) checkOr(endpoint, index, moving)
    send(endpoint.$side, endpoint.$turn, endpoint.$state(), index, payload, number, flags, moving)
    if (RecordFlag.ON) Recording.passed(endpoint, index, Recording.Kind.Sent, isLast = flags == Pipe.END)
  }

  /** Takes the parts of an endpoint instead of the endpoint, which the compiler need not create if it does not escape. */
  private def send(
      side: Side,
      turn: Long,
      state: String,
      index: Int,
      payload: Any,
      number: Long,
      flags: Int,
      moving: Moving
  ): Unit = {
    val own = side.state
    var owned = own.isMine
    if (!side.begin(turn, owned)) throw restored(side, moving, Endpoint.used(side, turn, state))
    if (!own.hasSpace() && own.pipe.unbounded) {
      awaitRoom(side, turn, state, owned, moving)
      owned = false
    }
    val sent =
      try own.send(turn, index, payload.asInstanceOf[AnyRef], number, flags)
      catch { case thrown: RuntimeException => throw Endpoint.torn(side, turn, state, thrown) }
    if (!sent) throw restored(side, moving, Endpoint.closed(side, state))
    val isKept = own.end(turn + 1, owned)
    own.wakePeer()
    // The collector must not treat the side as forgotten, and abandon it, before its last message is published.
    Reference.reachabilityFence(side)
    if (!isKept) throw Endpoint.used(side, turn, state)
  }

  /** Gives the endpoints in the payload back to the sender if the message is not allowed. */
  private def checkOr(endpoint: Endpoint, index: Int, moving: Moving): Unit =
    try if (RecordFlag.ON) Recording.check(endpoint, index)
    catch { case closed: SessionClosed => throw restored(endpoint.$side, moving, closed) }

  /** Gives the endpoints in the payload back to the sender, and returns the reason why nothing is sent. */
  private def restored(side: Side, moving: Moving, refusal: Exception): Exception = {
    if (RecordFlag.REGISTRY) Registered.takesBack(side.state)
    if (moving != null) moving.restore()
    refusal
  }

  private def awaitRoom(side: Side, turn: Long, state: String, owned: Boolean, moving: Moving): Unit =
    try Endpoint.arrives(side, turn, state, -1L, owned): Unit
    catch { case refusal: Exception => throw restored(side, moving, refusal) }

  /** Throws `IllegalArgumentException` if the value does not fit in a `u8`. */
  def u8(name: String, value: Int): Unit = if ((value & ~0xff) != 0) refuse(name, value.toLong, "u8")

  /** Throws `IllegalArgumentException` if the value does not fit in a `u16`. */
  def u16(name: String, value: Int): Unit = if ((value & ~0xffff) != 0) refuse(name, value.toLong, "u16")

  /** Throws `IllegalArgumentException` if the value does not fit in a `u32`. */
  def u32(name: String, value: Long): Unit = if ((value & ~0xffffffffL) != 0L) refuse(name, value, "u32")

  private def refuse(name: String, value: Long, range: String): Nothing =
    throw new IllegalArgumentException("`" + name + "` is a " + range + ": " + value.toString + " is out of range")

  /** Throws `IllegalStateException` for an index that the state does not have. Only a ring that a program has tampered with can
    * contain one.
    */
  def unknown(index: Int): Nothing = throw new IllegalStateException("no message " + index + " in this state")

  /** A value that contains endpoints and knows where. */
  trait Carrier[V] extends Value[V] {

    /** The same value, with its endpoints taken away from the sender. */
    def $moved(moving: Moving): Any
  }

  /** The endpoints inside one payload while it passes from the sender to the receiver: the sender's are consumed, and are
    * given back if the payload cannot be sent.
    */
  final class Moving {
    private var from: List[Endpoint] = Nil
    private var to: List[Endpoint] = Nil

    private def used(endpoint: Endpoint): Nothing = throw Endpoint.used(endpoint)

    /** The endpoint as the receiver will have it. Throws [[EndpointUsed]] if the sender does not have it. The caller restores the
      * others, as [[cargo]] does, whatever is thrown between two of them.
      */
    def take[E <: Endpoint](endpoint: E): E = endpoint match {
      case done: DoneEndpoint => done.asInstanceOf[E]
      case _ =>
        if (!endpoint.$claim()) used(endpoint)
        val twin = endpoint.$side.twin(endpoint.$turn)
        if (twin == null) used(endpoint)
        val moved = endpoint.$on(twin).asInstanceOf[E]
        from = endpoint :: from
        to = moved :: to
        moved
    }

    /** A value of which only the program knows whether it contains endpoints. Finds endpoints, payload types that contain
      * endpoints, and both inside the options, sequences and tuples of the language.
      */
    def any[T](value: T): T = find(value).asInstanceOf[T]

    private def find(value: Any): Any = value match {
      case endpoint: Endpoint  => take(endpoint)
      case carrier: Carrier[_] => carrier.$moved(this)
      case Some(inner)         => if (holds(value)) Some(find(inner)) else value
      case values: Vector[_]   => if (holds(value)) values.map(find) else value
      case tuple: Product      => if (holds(value)) Tuples.of(tuple.productIterator.map(find).toVector) else value
      case _                   => value
    }

    private def holds(value: Any): Boolean = kind(value).contains(true)

    /** Whether a value contains endpoints; `None` if that is unknown because it is empty. All elements of a sequence are
      * of one type, so the first one that can tell decides for the others, and a long sequence of something else costs
      * nothing.
      */
    private def kind(value: Any): Option[Boolean] = value match {
      case _: Endpoint | _: Carrier[_]      => Some(true)
      case _: None.type                     => None
      case Some(inner)                      => kind(inner)
      case values: Vector[_]                => values.iterator.map(kind).collectFirst { case Some(answer) => answer }
      case tuple: Product if isTuple(tuple) => kindOfTuple(tuple.productIterator.map(kind).toList)
      case other                            => if (other.asInstanceOf[AnyRef] eq null) None else Some(false)
    }

    private def kindOfTuple(kinds: List[Option[Boolean]]): Option[Boolean] =
      if (kinds.contains(Some(true))) Some(true) else if (kinds.contains(None)) None else Some(false)

    private def isTuple(value: Product): Boolean = value.getClass.getName.startsWith("scala.Tuple")

    /** Whether there are no endpoints in the payload. */
    private[duologue] def isEmpty: Boolean = to.isEmpty

    /** The payload, as stored in the ring. If it cannot be built, for example because of a `null`, the endpoints in it are given
      * back to the sender.
      */
    private[duologue] def cargo(payload: => Any): Any =
      try {
        val moved = payload
        if (to.isEmpty) moved else new EndpointPayload(moved, to.map(_.$side).toArray[Abandonable])
      } catch {
        case thrown: Throwable =>
          restore()
          throw thrown
      }

    private[duologue] def restore(): Unit = {
      from.zip(to).foreach { case (endpoint, moved) => endpoint.$side.takeBack(moved.$side, endpoint.$turn) }
      from = Nil
      to = Nil
    }
  }
}
