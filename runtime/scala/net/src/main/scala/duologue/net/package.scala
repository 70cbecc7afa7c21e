package duologue

import java.io.IOException
import java.nio.channels.SocketChannel

/** Sessions over sockets. The protocols have to be generated with `--remote`.
  *
  * {{{
  * val client: bank.client.Login = net.connect(bank.client, "unix:/run/bank.sock")
  * }}}
  */
package object net {

  /** Begins a session with a [[Listener]] at `address` and returns this side's first endpoint. It is used like any endpoint,
    * and [[SessionClosed.why]] says why the session closed.
    *
    * Throws [[Refused]] if the peer does not begin a session, [[ConnectFailed]] if there is no peer at the address or it does not
    * answer in time, and `InterruptedException` if the thread is interrupted first.
    */
  def connect(role: Role, address: String, options: ConnectOptions = ConnectOptions()): role.$First = {
    val to = Address(address)
    val deadline = System.nanoTime() + options.timeout.toNanos
    val socket =
      try to.open()
      catch { case failed: IOException => throw new ConnectFailed(address, String.valueOf(failed.getMessage), failed) }
    established(role, address, socket, options, deadline) { () =>
      val target = to.socketAddress
      // A Unix socket is connected at once, or its listener's backlog is full.
      socket.connect(target)
    }
  }

  /** Like the other `connect`, over a connection that the program provides, which from then on belongs to the session. */
  def connect(role: Role, socket: SocketChannel, options: ConnectOptions): role.$First =
    established(role, String.valueOf(socket.getRemoteAddress), socket, options, System.nanoTime() + options.timeout.toNanos)(() => true)

  private def established(role: Role, address: String, socket: SocketChannel, options: ConnectOptions, deadline: Long)(
      connect: () => Boolean
  ): role.$First = {
    var isDone = false
    try {
      socket.configureBlocking(false): Unit
      val isConnected = connect()
      val answer = Dialogue(socket, deadline) { dialogue =>
        if (!isConnected) dialogue.connect()
        greet(role, options, dialogue)
      }
      val session = answer.session.getOrElse(throw new Refused(address, answer.verdict, answer.waitMillis))
      isDone = true
      val connection = new Connection(new Channel(socket), options.heartbeat, session.seconds, () => ())
      begin(role, connection, options.largest, options.memory, session.largest, isAccepting = false)
    } catch {
      case refused: Refused            => throw refused
      case malformed: MalformedPayload => throw new ConnectFailed(address, malformed.getMessage, malformed)
      case unknown: java.nio.channels.UnresolvedAddressException =>
        throw new ConnectFailed(address, "the host is unknown", unknown)
      case failed: IOException => throw new ConnectFailed(address, String.valueOf(failed.getMessage), failed)
    } finally if (!isDone) Dialogue.hangUp(socket)
  }

  private def greet(role: Role, options: ConnectOptions, dialogue: Dialogue): Answer = {
    val protocol = role.$protocol
    val hello = Hello(
      Fingerprint.of(protocol.fingerprint),
      receivesFirst = role.$isClient != protocol.isClientFirst,
      options.largest,
      options.heartbeat,
      protocol.name,
      options.accepts.toVector,
      None,
      options.token.map(_.toVector)
    )
    dialogue.write(hello.encode)
    val head = dialogue.read(Handshake.Head)
    Handshake.answer(head, dialogue.read(Handshake.answerHead(head)))
  }

  /** The first endpoint of a session over a connection whose handshake is over. */
  private[net] def begin(
      role: Role,
      connection: Connection,
      largest: Long,
      memory: Long,
      peersLargest: Long,
      isAccepting: Boolean
  ): role.$First = {
    val far = new FarEnd(role.$protocol, role.$isClient, connection, largest, memory, peersLargest, isAccepting)
    connection.carry(far)
    role.$open(generated.near(far))
  }
}
