package duologue.net

import java.io.{EOFException, IOException}
import java.nio.ByteBuffer
import java.nio.channels.SelectionKey
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.LockSupport
import javax.net.ssl.SSLException

/** A handshake in the calling thread: reads and writes a connection that does not block, up to a deadline. */
private[net] final class Dialogue(val channel: Channel, deadline: Long) extends Watcher {
  private val thread = Thread.currentThread
  private val interest = new AtomicInteger
  @volatile private var isReady = false

  def takeInterest(): Int = interest.getAndSet(0)

  def ready(): Unit = {
    isReady = true
    LockSupport.unpark(thread)
  }

  /** Waits until the connection is established. */
  def connect(): Unit = while (!channel.isConnected) await(SelectionKey.OP_CONNECT)

  /** Does the handshake of the channel, which precedes the first byte. If it fails, the peer learns why. */
  def secure(): Unit =
    try {
      var wanted = channel.handshake(deadline)
      while (wanted != 0) {
        await(wanted)
        wanted = channel.handshake(deadline)
      }
    } catch {
      case failed: SSLException =>
        apologize()
        throw failed
    }

  def write(bytes: Array[Byte]): Unit = {
    val buffer = ByteBuffer.wrap(bytes)
    try while (buffer.hasRemaining) if (channel.write(buffer) == 0) await(SelectionKey.OP_WRITE)
    catch { case failed: IOException if isSecure => throw alertOr(failed) }
  }

  private def isSecure: Boolean = channel match {
    case _: Secure => true
    case _         => false
  }

  /** Writes a hello. A listener that refuses may close without reading all of it, and its answer can still be read: returns the failure
    * that is to be reported if there is none.
    */
  def hello(bytes: Array[Byte]): Option[IOException] =
    try {
      write(bytes)
      None
    } catch { case failed: IOException if !isSecure => Some(failed) }

  /** The hello of the connecting side. If it is malformed, the verdict; if the connecting side has sent something else, nothing. */
  def readHello(): Option[Either[Int, Hello]] = {
    val head = read(Handshake.Head)
    Handshake.helloHead(head).map(_.flatMap { length =>
      try Right(Handshake.hello(head, read(length)))
      catch { case _: duologue.MalformedPayload => Left(Verdict.Malformed) }
    })
  }

  /** Exactly this many bytes. */
  def read(count: Int): Array[Byte] = {
    val buffer = ByteBuffer.allocate(count)
    while (buffer.hasRemaining) {
      val read =
        try channel.read(buffer)
        catch { case failed: IOException if Handshake.isTls(buffer.array) => throw new IOException(Dialogue.SpeaksTls, failed) }
      if (read < 0) throw new EOFException(if (Handshake.isTls(buffer.array)) Dialogue.SpeaksTls else "the peer has closed the connection")
      if (read == 0) await(SelectionKey.OP_READ)
    }
    buffer.array
  }

  /** The alert of the peer, if there is one. A peer that refuses a certificate sends an alert and closes the connection, in TLS 1.3
    * after this side's handshake is over: so writing may fail before the alert is read.
    */
  private def alertOr(failed: IOException): IOException =
    try {
      while (true) read(1): Unit
      failed
    } catch {
      case alert: SSLException => alert
      case _: IOException      => failed
    }

  /** Sends the alert of a failed handshake, and reads until the peer closes the connection, if it does so soon: closing it with
    * unread bytes would discard the alert.
    */
  private def apologize(): Unit = channel match {
    case secure: Secure =>
      secure.goodbye()
      try {
        secure.socket.shutdownOutput(): Unit
        val end = math.min(deadline - System.nanoTime(), Dialogue.Apology) + System.nanoTime()
        val buffer = ByteBuffer.allocate(1 << 12)
        var count = secure.socket.read(buffer)
        while (count >= 0) {
          buffer.clear(): Unit
          if (count == 0) await(SelectionKey.OP_READ, end)
          count = secure.socket.read(buffer)
        }
      } catch { case _: IOException => () }
    case _ => ()
  }

  private def await(wanted: Int): Unit = await(wanted, deadline)

  private def await(wanted: Int, deadline: Long): Unit = {
    isReady = false
    interest.set(wanted)
    Reactor.watch(this)
    while (!isReady) {
      val left = deadline - System.nanoTime()
      if (left <= 0L) throw Failure.late()
      LockSupport.parkNanos(this, left)
      if (Thread.interrupted()) throw new InterruptedException()
    }
  }
}

private[net] object Dialogue {
  private val SpeaksTls = "the peer speaks TLS: write tls://HOST:PORT"

  /** How long this side waits after a failed handshake, so that the peer can read why it failed, in nanoseconds. */
  private val Apology = 500000000L

  /** Closes a connection; failures are ignored. */
  def hangUp(channel: AutoCloseable): Unit =
    try channel.close()
    catch { case _: IOException => () }
}
