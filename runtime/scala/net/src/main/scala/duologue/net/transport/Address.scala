package duologue.net

import java.net.{InetSocketAddress, SocketAddress, StandardProtocolFamily, StandardSocketOptions, UnixDomainSocketAddress}
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicBoolean
import jdk.net.{ExtendedSocketOptions, UnixDomainPrincipal}

/** The address of a listener: `unix:/run/bank.sock`, `tcp://host:7000`, `tcp://[::1]:7000` or
  * `tls://host:7000`.
  */
private[net] sealed trait Address {
  def open(): SocketChannel
  def socketAddress: SocketAddress
  def listen(): Address.Bound
}

private[net] object Address {

  /** A socket that listens, and its address. */
  final class Bound(val channel: ServerSocketChannel, val address: String, path: Option[Path]) {
    private val isClosed = new AtomicBoolean

    /** The file is deleted once only: another listener may have its path after that. */
    def close(): Unit = if (!isClosed.getAndSet(true)) {
      channel.close()
      path.foreach(path => Files.deleteIfExists(path): Unit)
    }
  }

  private val Backlog = 1024

  /** The address of the other end of a connection. That of a Unix socket has none. */
  def ofPeer(socket: SocketChannel, isSecure: Boolean): Option[String] =
    try
      socket.getRemoteAddress match {
        case address: InetSocketAddress => Some(tcp(address.getAddress.getHostAddress, address.getPort, isSecure))
        case _                          => None
      }
    catch { case _: java.io.IOException => None }

  /** What counts as one peer of a listener: an IPv4 address, the first half of an IPv6 address, or a user of this system; `None` if the
    * system does not know.
    */
  def origin(socket: SocketChannel): AnyRef =
    try
      socket.getRemoteAddress match {
        case address: InetSocketAddress =>
          val bytes = address.getAddress.getAddress
          bytes.take(if (bytes.length == 16) 8 else 4).toVector
        case _ => user(socket).map(_.toString)
      }
    catch { case _: java.io.IOException => None }

  /** The user at the other end of a Unix socket, on systems that have this option; otherwise `None`. */
  def user(socket: SocketChannel): Option[UnixDomainPrincipal] =
    try
      if (socket.supportedOptions.contains(ExtendedSocketOptions.SO_PEERCRED))
        Option(socket.getOption(ExtendedSocketOptions.SO_PEERCRED))
      else None
    catch { case _: java.io.IOException => None }

  private def tcp(host: String, port: Int, isSecure: Boolean): String = {
    val shown = if (host.contains(':')) "[" + host + "]" else host
    (if (isSecure) "tls://" else "tcp://") + shown + ":" + port.toString
  }

  /** Closes the socket if it cannot be bound. */
  private def bound(channel: ServerSocketChannel)(bind: ServerSocketChannel => Bound): Bound =
    try bind(channel)
    catch {
      case thrown: Throwable =>
        channel.close()
        throw thrown
    }

  final case class Unix(path: String) extends Address {
    def open(): SocketChannel = SocketChannel.open(StandardProtocolFamily.UNIX)
    def socketAddress: SocketAddress = UnixDomainSocketAddress.of(path)

    def listen(): Bound = bound(ServerSocketChannel.open(StandardProtocolFamily.UNIX)) { channel =>
      removeStale()
      channel.bind(socketAddress, Backlog): Unit
      new Bound(channel, "unix:" + path, Some(Path.of(path)))
    }

    /** Removes a socket on which no process listens. Any other file makes `bind` fail. */
    private def removeStale(): Unit = {
      val file = Path.of(path)
      val isSocket = Files.exists(file) && Files.readAttributes(file, classOf[java.nio.file.attribute.BasicFileAttributes]).isOther
      if (isSocket) {
        val probe = open()
        try probe.connect(socketAddress): Unit
        catch { case _: java.net.ConnectException => Files.deleteIfExists(file): Unit }
        finally probe.close()
      }
    }
  }

  final case class Tcp(host: String, port: Int, isSecure: Boolean) extends Address {
    def open(): SocketChannel = {
      val channel = SocketChannel.open()
      channel.setOption(StandardSocketOptions.TCP_NODELAY, java.lang.Boolean.TRUE): Unit
      channel
    }
    def socketAddress: SocketAddress = new InetSocketAddress(host, port)

    def listen(): Bound = bound(ServerSocketChannel.open()) { channel =>
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, java.lang.Boolean.TRUE): Unit
      channel.bind(socketAddress, Backlog): Unit
      val used = channel.getLocalAddress match {
        case address: InetSocketAddress => address.getPort
        case _                          => port
      }
      new Bound(channel, tcp(host, used, isSecure), None)
    }
  }

  private val WithPort = """(tcp|tls)://(\[([^\]]+)\]|[^:/\[\]]+):(\d{1,5})/?""".r

  def apply(text: String): Address = text match {
    case WithPort(scheme, host, bare, port) if port.toInt <= 0xffff =>
      Tcp(if (bare == null) host else bare, port.toInt, isSecure = scheme == "tls")
    case _ if text.startsWith("tcp:") => throw new AddressMalformed(text, "write tcp://HOST:PORT")
    case _ if text.startsWith("tls:") => throw new AddressMalformed(text, "write tls://HOST:PORT")
    case _ if text.startsWith("unix:") =>
      val path = text.stripPrefix("unix:")
      if (path.isEmpty) throw new AddressMalformed(text, "write unix:PATH")
      Unix(path)
    case _ => throw new AddressMalformed(text, "it begins with none of unix:, tcp:// and tls://")
  }
}
