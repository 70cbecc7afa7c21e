package duologue

import java.io.IOException
import java.nio.channels.{ClosedByInterruptException, SocketChannel}

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
  def connect(role: Role, address: String, options: ConnectOptions = ConnectOptions()): role.$First =
    observed(role, Some(address), options)(connectTo(role, address, options))

  private def connectTo(role: Role, address: String, options: ConnectOptions): role.$First = {
    val deadline = System.nanoTime() + options.timeout.toNanos
    Address(address) match {
      case to @ Address.Tcp(host, port, true) =>
        val context = options.tls.getOrElse(throw Tls.missing(address, "ConnectOptions(tls = Some(context))"))
        connectSocket(role, address, to, Secure.client(_, context, options.service.getOrElse(host), port), options, deadline)
      case _ if options.service.nonEmpty && options.tls.nonEmpty =>
        throw new ConnectFailed(address, "the address has no TLS, and this side has certificates", null)
      case to => connectSocket(role, address, to, new Plain(_), options, deadline)
    }
  }

  private def connectSocket(
      role: Role,
      address: String,
      to: Address,
      carrier: SocketChannel => Channel,
      options: ConnectOptions,
      deadline: Long
  ): role.$First = {
    val socket =
      try to.open()
      catch { case failed: IOException => throw new ConnectFailed(address, String.valueOf(failed.getMessage), failed) }
    established(role, address, Some(address), socket, () => carrier(socket), options, deadline) { () =>
      val target = to.socketAddress
      // A Unix socket is connected at once, or its listener's backlog is full.
      socket.connect(target)
    }
  }

  /** The fingerprints of the protocols that this side understands: its own, those that its protocol file names with `#[accepts(...)]`, and these. */
  def fingerprints(role: Role, accepts: Seq[Fingerprint] = Nil): Seq[Fingerprint] =
    (Fingerprint.of(role.$protocol.fingerprint) +: (accepts ++ Fingerprint.acceptedBy(role))).distinct

  private def accepted(role: Role, options: ConnectOptions): Vector[Fingerprint] =
    (options.accepts ++ Fingerprint.acceptedBy(role)).distinct.take(Handshake.MostAccepted).toVector

  /** Like [[connect]], but over a connection that the program provides, which then belongs to the session. It is used without TLS. The
    * other side accepts the session with [[acceptOver]], or with a function like it in another language.
    */
  def connectOver(role: Role, stream: ByteStream, options: ConnectOptions = ConnectOptions()): role.$First = {
    val deadline = System.nanoTime() + options.timeout.toNanos
    val channel = observed(role, None, options)(opened(stream))
    val peer = if (options.observer.isEmpty) None else channel.peer
    observed(role, peer, options) {
      established(role, stream.toString, peer, channel, () => channel, options, deadline)(() => true)
    }
  }

  /** Accepts a session over a connection that the program provides, which then belongs to the session. It is used without TLS. The
    * options are used as by the connecting side, except that `timeout` is how long the hello may take, and `token`, `trace` and `tls` are
    * not used.
    *
    * Throws [[ConnectFailed]] if the peer's hello is refused, is none, or does not arrive in time, and `InterruptedException` if the
    * thread is interrupted first.
    */
  def acceptOver(role: Role, stream: ByteStream, options: ConnectOptions = ConnectOptions()): role.$First =
    Accepting.over(role, observed(role, None, options, isAccepting = true)(opened(stream)), stream.toString, options)

  private def opened(stream: ByteStream): Channel =
    try stream.open()
    catch {
      case _: ClosedByInterruptException =>
        Thread.interrupted(): Unit
        throw new InterruptedException()
      case failed: IOException => throw new ConnectFailed(stream.toString, String.valueOf(failed.getMessage), failed)
    }

  /** Reports an exception to the observer, if there is one. */
  private def observed[T](role: Role, peer: Option[String], options: ConnectOptions, isAccepting: Boolean = false)(
      connect: => T
  ): T =
    try connect
    catch {
      case failed: Throwable =>
        Reports.refused(
          options.observer, {
            val verdict = failed match {
              case refused: Refused => Some(refused.verdict)
              case _                => None
            }
            new Observer.Refusal(isAccepting, Some(role.$protocol.name), peer, verdict, Some(failed))
          }
        )
        throw failed
    }

  private def established(
      role: Role,
      address: String,
      peer: Option[String],
      socket: AutoCloseable,
      carrier: () => Channel,
      options: ConnectOptions,
      deadline: Long
  )(connect: () => Boolean): role.$First = {
    var isDone = false
    var open = socket
    try {
      val channel = carrier()
      open = channel
      channel.prepare()
      val isConnected = connect()
      val dialogue = new Dialogue(channel, deadline)
      if (!isConnected) dialogue.connect()
      dialogue.secure()
      val answer = greet(role, options, dialogue)
      val session = answer.session.getOrElse(throw new Refused(address, answer.verdict, answer.waitMillis))
      val fits = answer.verdict match {
        case Verdict.Equal    => session.fingerprint == Fingerprint.of(role.$protocol.fingerprint)
        case Verdict.Accepted => true
        case Verdict.InList   => accepted(role, options).contains(session.fingerprint)
        case _                => false
      }
      if (!fits) throw new IOException("the peer has answered with a protocol that this side does not speak")
      isDone = true
      val connection = new Connection(channel, _ => ())
      val seen = Reports.Seen(peer, session.fingerprint, answer.verdict == Verdict.InList, options.trace)
      begin(role, connection, options, session.largest, session.seconds, isAccepting = false, options.observer, seen)
    } catch {
      case refused: Refused            => throw refused
      case malformed: MalformedPayload => throw new ConnectFailed(address, malformed.getMessage, malformed)
      case unknown: java.nio.channels.UnresolvedAddressException =>
        throw new ConnectFailed(address, "the host is unknown", unknown)
      case failed: IOException => throw new ConnectFailed(address, Failure.explain(failed), failed)
    } finally if (!isDone) Dialogue.hangUp(open)
  }

  private def greet(role: Role, options: ConnectOptions, dialogue: Dialogue): Answer = {
    val protocol = role.$protocol
    val hello = Hello(
      Fingerprint.of(protocol.fingerprint),
      receivesFirst = role.$isClient != protocol.isClientFirst,
      options.largest,
      options.heartbeat,
      protocol.name,
      accepted(role, options),
      options.trace,
      options.token.map(_.toVector)
    )
    val unsent = dialogue.hello(hello.encode)
    try {
      val head = dialogue.read(Handshake.Head)
      Handshake.answer(head, dialogue.read(Handshake.answerHead(head)))
    } catch { case failed: IOException => throw unsent.getOrElse(failed) }
  }

  /** The first endpoint of a session over a connection whose handshake is over. */
  private[net] def begin(
      role: Role,
      connection: Connection,
      terms: Terms,
      peersLargest: Long,
      peersHeartbeat: Int,
      isAccepting: Boolean,
      observer: Option[Observer],
      seen: => Reports.Seen
  ): role.$First = {
    val reports = observer.map(Reports(_, role, isAccepting, seen, () => connection.collect())).orNull
    val state = new RemoteState(role.$protocol, role.$isClient, connection, terms.largest, terms.memory, peersLargest, isAccepting, reports)
      .idle(if (terms.idle.isFinite) math.max(1L, terms.idle.toNanos) else 0L)
      .heartbeats(terms.heartbeat, peersHeartbeat)
    if (reports != null) reports.begin()
    connection.carry(state, reports)
    role.$open(generated.near(state))
  }
}
