package duologue

import java.io.IOException
import java.net.{BindException, ConnectException, StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector, ServerSocketChannel, SocketChannel}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, LinkOption, Path}
import java.nio.file.attribute.BasicFileAttributes
import scala.jdk.CollectionConverters.SetHasAsScala

/** Gives one document to each client of a Unix socket. One thread serves all of them, so a client that does not read holds up no other. */
private[duologue] final class RegistryServer(path: Path, document: () => String) extends AutoCloseable {
  import RegistryServer.Client

  private val server = RegistryServer.bind(path)
  private val ownFile = RegistryServer.key(path)
  private val selector = Selector.open()
  @volatile private var isOver = false
  server.configureBlocking(false): Unit
  server.register(selector, SelectionKey.OP_ACCEPT): Unit
  private val thread = new Thread(null, () => serve(), "duologue-registry", 0L, false)
  thread.setDaemon(true)
  thread.start()

  private def serve(): Unit =
    try while (!isOver) step()
    finally {
      selector.keys.asScala.foreach(_.channel.close())
      selector.close()
    }

  private def step(): Unit =
    try {
      selector.select(if (clients.isEmpty) 0L else RegistryServer.Look): Unit
      val ready = selector.selectedKeys.asScala.toVector
      selector.selectedKeys.clear()
      ready.foreach(key => if (key.isValid && key.isAcceptable) accept() else key.attachment match {
        case client: Client => if (!client.write()) client.channel.close()
        case _              =>
      })
      val now = System.nanoTime()
      clients.foreach(client => if (now - client.end > 0L) client.channel.close())
    } catch {
      // For example, because the process has too many files open.
      case _: IOException => Thread.sleep(RegistryServer.Pause)
    }

  private def clients: Vector[Client] = selector.keys.asScala.toVector.flatMap(key => if (key.isValid) Option(key.attachment) else None).collect {
    case client: Client => client
  }

  private def accept(): Unit = {
    val channel = server.accept()
    if (channel != null) {
      // The one that has had the most time makes space.
      val others = clients
      if (others.size >= RegistryServer.Most) others.minBy(_.end).channel.close()
      channel.configureBlocking(false): Unit
      val client = new Client(channel, ByteBuffer.wrap(document().getBytes(UTF_8)), System.nanoTime() + RegistryServer.Limit)
      if (client.write()) channel.register(selector, SelectionKey.OP_WRITE, client): Unit
      else channel.close()
    }
  }

  /** Stops serving, and removes the socket, unless another one is there by now. */
  override def close(): Unit = if (!isOver) {
    isOver = true
    if (RegistryServer.key(path) == ownFile) Files.deleteIfExists(path): Unit
    selector.wakeup(): Unit
  }
}

private[duologue] object RegistryServer {
  /** How long a client may take to read a document, in nanoseconds. */
  private val Limit = 5000000000L
  /** How often that is checked, and how long nothing is done after an error, in milliseconds. */
  private val Look = 100L
  private val Pause = 50L
  /** How many clients are served at the same time. */
  private val Most = 64

  private final class Client(val channel: SocketChannel, rest: ByteBuffer, val end: Long) {

    /** Writes what the client takes. False: it needs no more. */
    def write(): Boolean =
      try {
        channel.write(rest): Unit
        rest.hasRemaining
      } catch { case _: IOException => false }
  }

  private def bind(path: Path): ServerSocketChannel =
    try bound(path)
    catch {
      case _: BindException if isLeft(path) =>
        Files.deleteIfExists(path): Unit
        bound(path)
    }

  private def bound(path: Path): ServerSocketChannel = {
    val server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
    try server.bind(UnixDomainSocketAddress.of(path))
    catch {
      case refused: IOException =>
        server.close()
        throw refused
    }
  }

  /** What distinguishes the file from others. */
  private def key(path: Path): Option[String] =
    try Option(Files.readAttributes(path, classOf[BasicFileAttributes], LinkOption.NOFOLLOW_LINKS).fileKey).map(_.toString)
    catch { case _: IOException => None }

  /** Whether this is a socket at which nothing listens. */
  private def isLeft(path: Path): Boolean = Files.readAttributes(path, classOf[BasicFileAttributes], LinkOption.NOFOLLOW_LINKS).isOther && {
    try {
      SocketChannel.open(UnixDomainSocketAddress.of(path)).close()
      false
    } catch {
      case _: ConnectException => true
      case _: IOException      => false
    }
  }
}
