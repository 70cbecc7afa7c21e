package duologue.net

import java.io.{EOFException, IOException}
import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, SocketChannel}
import java.security.cert.X509Certificate
import java.util.Arrays
import javax.net.ssl.SSLEngineResult.{HandshakeStatus, Status}
import javax.net.ssl.{SSLContext, SSLEngine, SSLEngineResult, SSLException, SSLPeerUnverifiedException}
import scala.annotation.tailrec

/** A connection that carries its bytes over TLS. */
private[net] final class Secure private (socket: SocketChannel, engine: SSLEngine) extends OverSocket(socket) {
  import Secure.Empty

  protected def isSecure: Boolean = true

  /** The size of a buffer for one record. */
  private val packet = engine.getSession.getPacketBufferSize
  /** What came from the socket and is not decrypted yet. Like [[encrypted]], the buffer is only there while there is something in it. The
    * engine decrypts in place: what is before the position may be plain text, and what is beyond the limit is none.
    */
  private var arrived = Empty
  /** What is decrypted and did not fit into the buffer of the caller. */
  private var decrypted = Empty
  /** What is encrypted and not written yet. */
  private var encrypted = Empty
  /** How many of the caller's bytes [[encrypted]] contains. They count as written once all of it is; until then the caller offers them
    * again.
    */
  private var owed = 0
  /** Why nothing more can be read, or written. */
  private var unreadable: Option[IOException] = None
  private var unwritable: Option[IOException] = None
  /** Whether the peer has sent close_notify. */
  private var isEnded = false
  private var isBegun = false
  private var isSecured = false
  @volatile private var hasMore = false

  def isBuffered: Boolean = hasMore

  override def certificates: Seq[X509Certificate] =
    try engine.getSession.getPeerCertificates.toVector.collect { case certificate: X509Certificate => certificate }
    catch { case _: SSLPeerUnverifiedException => Nil }

  def handshake(deadline: Long): Int = {
    if (!isBegun) {
      isBegun = true
      engine.beginHandshake()
    }
    advance(deadline)
  }

  @tailrec
  private def advance(deadline: Long): Int =
    if (System.nanoTime() - deadline > 0L) throw Failure.late()
    else if (!flush()) SelectionKey.OP_WRITE
    else if (needs(HandshakeStatus.NEED_TASK)) {
      runTasks()
      advance(deadline)
    } else if (needs(HandshakeStatus.NEED_WRAP)) {
      if (encrypt(Empty).getStatus eq Status.CLOSED) throw new SSLException("the handshake has failed")
      advance(deadline)
    } else if (needs(HandshakeStatus.NEED_UNWRAP)) {
      if (decrypt(Empty, fills = true)) advance(deadline)
      else {
        unreadable.foreach(throw _)
        if (isEnded) throw new EOFException(Secure.EndInHandshake)
        leaveArrived()
        SelectionKey.OP_READ
      }
    } else {
      // JSSE refuses a peer that names other protocols, but not one that names none.
      if (engine.getApplicationProtocol != Tls.Application)
        throw new SSLException("the peer did not negotiate the protocol " + Tls.Application + " (ALPN)")
      isSecured = true
      hasMore = decrypted.hasRemaining || arrived.hasRemaining
      leaveArrived()
      0
    }

  private def needs(status: HandshakeStatus): Boolean = engine.getHandshakeStatus eq status

  def read(into: ByteBuffer): Int = {
    val start = into.position
    var flows = true
    var empty = 0
    while (flows && into.hasRemaining)
      if (decrypted.hasRemaining) {
        val count = math.min(into.remaining, decrypted.remaining)
        into.put(decrypted.slice(decrypted.position, count))
        decrypted.position(decrypted.position + count): Unit
        if (!decrypted.hasRemaining) decrypted = Empty
      } else {
        val before = into.position
        flows = decrypt(into, fills = into.position == start)
        if (flows && into.position == before && !decrypted.hasRemaining) {
          empty += 1
          if (empty > Secure.MostEmpty) {
            unreadable = Some(new SSLException("the peer sends empty records"))
            flows = false
          }
        }
      }
    val count = into.position - start
    leaveArrived()
    hasMore = count > 0 && (decrypted.hasRemaining || flows && arrived.hasRemaining || isEnded || unreadable.nonEmpty)
    if (count > 0) count
    else {
      unreadable.foreach(throw _)
      if (isEnded) -1 else 0
    }
  }

  def write(from: ByteBuffer): Int = {
    val start = from.position
    while (flush() && (owed > 0 || from.hasRemaining)) {
      from.position(from.position + owed): Unit
      owed = 0
      if (from.hasRemaining) {
        val offered = from.position
        val result = encrypt(from)
        owed = from.position - offered
        from.position(offered): Unit
        // None of it is encrypted if TLS itself has to send something first, such as new keys.
        if (owed == 0 && result.bytesProduced == 0) {
          if (needs(HandshakeStatus.NEED_TASK)) runTasks()
          else throw broken(new SSLException("TLS cannot send anything more"))
        }
      }
    }
    from.position - start
  }

  override def close(): Unit =
    try goodbye()
    finally super.close()

  /** Sends the last message of TLS if it can be sent at once: the alert after a failure, close_notify otherwise. */
  def goodbye(): Unit =
    try
      if (isBegun) {
        engine.closeOutbound()
        while (flush() && !engine.isOutboundDone && encrypt(Empty).bytesProduced > 0) ()
      }
    catch { case _: IOException => () }

  /** Decrypts one record into the buffer, or into [[decrypted]] if the buffer is too small. With `fills`, reads from the socket first if
    * necessary. Returns whether there was a record.
    */
  @tailrec
  private def decrypt(into: ByteBuffer, fills: Boolean): Boolean =
    if (isEnded || unreadable.nonEmpty) false
    else {
      var status = unwrap(into)
      if (status eq Status.BUFFER_OVERFLOW) {
        // The engine guesses the size of a record that is not complete.
        decrypted = ByteBuffer.allocate(engine.getSession.getApplicationBufferSize)
        status = unwrap(decrypted)
        if (!decrypted.flip().hasRemaining) decrypted = Empty
      }
      if (status eq Status.OK) {
        respond()
        true
      } else if (status eq Status.BUFFER_UNDERFLOW) fills && fill() && decrypt(into, fills)
      else {
        if (status eq Status.BUFFER_OVERFLOW) unreadable = Some(new SSLException("a record from the peer is too large"))
        isEnded = unreadable.isEmpty
        false
      }
    }

  /** Decrypts with the engine. A failure is kept for later: what was decrypted before is read first. */
  private def unwrap(into: ByteBuffer): Status =
    try engine.unwrap(arrived, into).getStatus
    catch {
      case failed: SSLException =>
        unreadable = Some(failed)
        Status.CLOSED
      case failed: RuntimeException =>
        unreadable = Some(new SSLException(failed))
        Status.CLOSED
    }

  /** Reads from the socket. Returns whether something arrived. */
  private def fill(): Boolean = {
    arrived = Secure.withSpace(arrived, packet)
    try {
      val count = socket.read(arrived)
      if (count < 0) unreadable = Some(new EOFException(if (isSecured) "the connection ended without close_notify" else Secure.EndInHandshake))
      count > 0
    } catch {
      case failed: IOException =>
        unreadable = Some(if (isSecured) failed else new IOException(Secure.EndInHandshake, failed))
        false
    } finally arrived.flip(): Unit
  }

  /** After the handshake the engine may have something of its own to send, such as new keys that the peer asks for, and decrypts
    * nothing before it is encrypted. It need not be written at once.
    */
  private def respond(): Unit = if (isSecured) {
    if (needs(HandshakeStatus.NEED_TASK)) runTasks()
    try {
      while (needs(HandshakeStatus.NEED_WRAP) && encrypt(Empty).bytesProduced > 0) ()
      if (needs(HandshakeStatus.NEED_WRAP) || encrypted.remaining > Secure.MostPending)
        unreadable = Some(new SSLException("the peer asks for new keys and does not read them"))
    } catch { case failed: SSLException => unreadable = Some(failed) }
    try flush(): Unit
    catch { case _: IOException => () }
  }

  /** Encrypts at most one record, and adds it to what is to be written. */
  @tailrec
  private def encrypt(from: ByteBuffer): SSLEngineResult = {
    encrypted = Secure.withSpace(encrypted, packet)
    val result =
      // An SSLException does not end writing: the alert that reports it comes next.
      try engine.wrap(from, encrypted)
      catch { case failed: RuntimeException => throw broken(new SSLException(failed)) }
      finally encrypted.flip(): Unit
    if (result.getStatus ne Status.BUFFER_OVERFLOW) result
    else {
      encrypted = ByteBuffer.allocate(2 * encrypted.capacity).put(encrypted).flip()
      encrypt(from)
    }
  }

  /** Writes what is encrypted. Returns whether all of it is written. */
  private def flush(): Boolean = {
    unwritable.foreach(throw _)
    try if (encrypted.hasRemaining) socket.write(encrypted): Unit
    catch { case failed: IOException => throw broken(failed) }
    val isWritten = !encrypted.hasRemaining
    if (isWritten) {
      Buffers.give(encrypted, packet)
      encrypted = Empty
    }
    isWritten
  }

  /** Gives the buffer back if everything in it is decrypted. */
  private def leaveArrived(): Unit = if (!arrived.hasRemaining) {
    Arrays.fill(arrived.array, 0, arrived.limit(), 0.toByte)
    Buffers.give(arrived, packet)
    arrived = Empty
  }

  private def broken(failure: IOException): IOException = {
    unwritable = Some(failure)
    failure
  }

  private def runTasks(): Unit = {
    var task = engine.getDelegatedTask
    while (task != null) {
      task.run()
      task = engine.getDelegatedTask
    }
  }
}

private[net] object Secure {
  private val Empty = ByteBuffer.allocate(0)

  /** How much the engine itself may have to send, in bytes: hundreds of times what one request of the peer causes. */
  private val MostPending = 1 << 16

  /** How many records without data, such as those of TLS itself, one call reads in a row. */
  private val MostEmpty = 256
  private val EndInHandshake = "the peer closed the connection during the TLS handshake: it may not listen for TLS, or may not accept this side"

  /** The same bytes in a buffer to which some can be added: this one, or a larger one. */
  private def withSpace(buffer: ByteBuffer, packet: Int): ByteBuffer =
    if (buffer.capacity == 0) Buffers.take(packet)
    else {
      val end = buffer.limit()
      buffer.compact(): Unit
      // Part of what was decrypted there.
      Arrays.fill(buffer.array, buffer.position, end, 0.toByte)
      if (buffer.hasRemaining) buffer else ByteBuffer.allocate(2 * buffer.capacity).put(buffer.flip())
    }

  /** The connecting side's, which checks that the peer's certificate is for this host. */
  def client(socket: SocketChannel, context: SSLContext, host: String, port: Int): Secure =
    new Secure(socket, Tls.client(context, host, port))

  /** The accepting side's, which demands a certificate. */
  def server(socket: SocketChannel, context: SSLContext): Secure = new Secure(socket, Tls.server(context))
}
