package duologue.net

import java.util.concurrent.atomic.AtomicBoolean

/** A connection whose handshake has to be over at `deadline`. It counts as one of its peer until it is closed. */
private[net] abstract class Incoming(val deadline: Long, leave: () => Unit) extends AutoCloseable {
  private val isCounted = new AtomicBoolean(true)

  /** Something has arrived, but there is no place for its handshake yet. */
  var isReady = false

  /** The address of the other end, if it has one. */
  def peer: Option[String]

  /** Begins with the connection, which closes what is below it. Called once. */
  def carry(): Channel

  /** Its hello is about to be answered: the session begins, or is refused with this verdict. */
  def decided(refused: Option[Int]): Unit = ()

  /** Refuses the peer before its hello is read, if that can be sent at once. */
  def refuse(answer: Array[Byte]): Unit

  /** Closes what is below the connection. */
  protected def end(): Unit

  /** The connection no longer counts. */
  def left(): Unit = if (isCounted.getAndSet(false)) leave()

  override def close(): Unit =
    try end()
    finally left()
}

/** Where a listener gets connections from. It is made with two functions: one that takes a connection, and returns false if there is no place
  * for its handshake, and one that is called with those that are closed: true if they have waited too long, false if their peer has too many.
  */
private[net] trait Source extends AutoCloseable {

  /** The address of the listener. */
  def address: String

  /** Whether it may still get connections. */
  def isOpen: Boolean

  /** Has connections delivered that begin with these protocols, which have names. Called again when there are more. */
  def serve(protocols: Seq[(String, Fingerprint)]): Unit

  /** Lets programs discover the listener from the next call of [[serve]] on, if that is possible there. */
  def discoverable(): Unit

  /** Waits until something happens, and handles it. One thread calls this. Throws `ClosedChannelException` or the like once this is stopped, and
    * another `IOException` if no connection can arrive any more for another reason.
    */
  def step(): Unit

  /** A place has become free. Any thread may call this. */
  def freed(): Unit

  /** The number of sessions has changed. While `isFull`, has no further connections delivered, if others may get them instead. */
  def counted(isFull: () => Boolean): Unit

  /** Has no further connections delivered, if others may get them instead. */
  def drain(): Unit

  /** Waits for a short time until the system has what the sessions have sent last. */
  def flush(): Unit

  /** Ends [[step]], now and later, and frees what listens. Any thread may call this; [[close]] does the rest. */
  def stop(): Unit

  override def close(): Unit
}

private[net] object Source {
  type Make = (Incoming => Boolean, (Incoming, Boolean) => Unit) => Source
}
