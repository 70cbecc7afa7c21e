package duologue.net

import java.io.{IOException, InputStream, OutputStream}
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CountDownLatch, TimeUnit}
import scala.util.control.NonFatal

/** A connection that the program provides, for [[connectOver]] and [[acceptOver]]: it carries bytes in order, in both directions. It
  * belongs to one session, which closes it, and it is used without TLS.
  */
final class ByteStream private (begin: () => Channel, name: => String) {
  private val isUsed = new AtomicBoolean

  /** The connection, which belongs to a session from then on. */
  private[net] def open(): Channel = {
    if (!isUsed.compareAndSet(false, true))
      throw new IllegalStateException("this stream already belongs to a session: make a `ByteStream` for each connection")
    begin()
  }

  override def toString: String = name
}

object ByteStream {

  /** A socket that is connected. */
  def apply(socket: SocketChannel): ByteStream = {
    def name =
      try String.valueOf(socket.getRemoteAddress)
      catch { case _: IOException => "a socket that is closed" }
    new ByteStream(() => new Plain(socket), name)
  }

  /** A stream to read from and one to write to, such as those of a process. Two threads copy what passes, so that one thread can wait
    * for several such sessions. When the session is over, and what it has sent is written, both streams are closed; if it cannot be
    * written, 5 seconds later. If `close` waits for the method that cannot write, as that of a `BufferedOutputStream` does, the program has to
    * end what it waits for: the process that does not read, for example.
    */
  def apply(in: InputStream, out: OutputStream): ByteStream = new ByteStream(() => copied(in, out), "streams of the program")

  /** How long the streams may take to be written after the end of the session, in seconds. */
  private val Linger = 5L

  /** How much is copied at once. */
  private val Size = 1 << 14

  private def copied(in: InputStream, out: OutputStream): Channel =
    try {
      val (near, far) = pair()
      val (isOver, isWritten) = (new CountDownLatch(1), new CountDownLatch(1))
      start("duologue-in")(copyIn(in, far))
      start("duologue-out") {
        copyOut(far, out)
        close(out)
        isWritten.countDown()
        isOver.await()
        close(far)
        close(in)
      }
      def end(): Unit = {
        isOver.countDown()
        if (isWritten.getCount > 0L) start("duologue-close") {
          if (!isWritten.await(Linger, TimeUnit.SECONDS)) {
            close(far)
            // Either may wait for the method that another thread is in.
            start("duologue-close")(close(in))
            close(out)
          }
        }
      }
      new Copied(near, () => end())
    } catch {
      case failed: IOException =>
        close(in)
        close(out)
        throw failed
    }

  /** This side of the two sockets. */
  private final class Copied(socket: SocketChannel, end: () => Unit) extends Plain(socket) {
    override def close(): Unit =
      try super.close()
      finally end()
  }

  /** Two sockets that are connected. Only this user can enter the folder in which their address is for a moment. */
  private def pair(): (SocketChannel, SocketChannel) = {
    val folder = Files.createTempDirectory("duologue")
    val path = folder.resolve("s")
    try {
      val listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
      try {
        val address = UnixDomainSocketAddress.of(path)
        listener.bind(address): Unit
        val near = SocketChannel.open(address)
        try (near, listener.accept())
        catch {
          case failed: IOException =>
            near.close()
            throw failed
        }
      } finally listener.close()
    } finally {
      Files.deleteIfExists(path): Unit
      Files.deleteIfExists(folder): Unit
    }
  }

  /** Until the stream ends or fails, or the session is over. */
  private def copyIn(in: InputStream, far: SocketChannel): Unit = {
    untilFailure {
      val bytes = new Array[Byte](Size)
      var count = in.read(bytes)
      while (count >= 0) {
        val buffer = ByteBuffer.wrap(bytes, 0, count)
        while (buffer.hasRemaining) far.write(buffer): Unit
        count = in.read(bytes)
      }
    }
    // The session finds the end of the connection after what has arrived.
    untilFailure(far.shutdownOutput(): Unit)
  }

  /** Until the session is over, or the stream fails. */
  private def copyOut(far: SocketChannel, out: OutputStream): Unit = {
    untilFailure {
      val buffer = ByteBuffer.allocate(Size)
      while (far.read(buffer.clear()) >= 0) {
        out.write(buffer.array, 0, buffer.position())
        out.flush()
      }
    }
    // If the stream has failed, the session cannot write anything more, but it can still read what arrives.
    untilFailure(far.shutdownInput(): Unit)
  }

  /** Streams of the program may throw anything. */
  private def untilFailure(task: => Unit): Unit =
    try task
    catch { case NonFatal(_) => () }

  private def close(stream: AutoCloseable): Unit = untilFailure(stream.close())

  private def start(name: String)(task: => Unit): Unit = {
    val thread = new Thread(() => task, name)
    thread.setDaemon(true)
    thread.start()
  }
}
