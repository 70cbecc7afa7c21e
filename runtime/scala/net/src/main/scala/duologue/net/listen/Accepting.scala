package duologue.net

import duologue.Role
import java.io.IOException

/** One side of a protocol that accepts sessions. `more` are fingerprints that it accepts in addition to those of its protocol file. */
private[net] class ServedSide(val role: Role, more: Seq[Fingerprint]) {
  private val accepts: Set[Fingerprint] = more.toSet ++ Fingerprint.acceptedBy(role)
  val fingerprint: Fingerprint = Fingerprint.of(role.$protocol.fingerprint)
  val receivesFirst: Boolean = role.$isClient != role.$protocol.isClientFirst

  /** The verdict with which a session could begin, if the versions of the protocol fit. */
  def verdictOn(hello: Hello): Option[Int] =
    if (fingerprint == hello.fingerprint) Some(Verdict.Equal)
    else if (accepts.contains(hello.fingerprint)) Some(Verdict.Accepted)
    else if (hello.accepts.contains(fingerprint)) Some(Verdict.InList)
    else None
}

private[net] object Accepting {

  /** Accepts a session over a connection of the program: see [[acceptOver]]. */
  def over(role: Role, channel: Channel, address: String, options: ConnectOptions): role.$First = {
    val deadline = System.nanoTime() + options.timeout.toNanos
    val side = new ServedSide(role, options.accepts)
    var isDone = false
    var name = Option.empty[String]
    def refused(verdict: Option[Int], why: String, cause: Option[IOException]): ConnectFailed = {
      val peer = channel.peer
      val failure = new ConnectFailed(address, why, cause.orNull)
      Reports.refused(options.observer, new Observer.Refusal(isAccepting = true, name, peer, verdict, cause.map(_ => failure)))
      failure
    }
    try {
      channel.prepare()
      val dialogue = new Dialogue(channel, deadline)
      val judged = dialogue.readHello().map(_.flatMap { hello =>
        name = Some(hello.name)
        judge(side, hello, options)
      })
      judged.foreach(answer => dialogue.write(answer.fold(Answer.refusal(_), _._1).encode))
      judged match {
        case None                => throw refused(None, "the peer has sent something other than a hello", None)
        case Some(Left(verdict)) => throw refused(Some(verdict), "this side has refused the peer: " + Verdict.short(verdict), None)
        case Some(Right((answer, hello))) =>
          isDone = true
          val connection = new Connection(channel, _ => ())
          def seen = Reports.Seen(channel.peer, hello.fingerprint, answer.verdict == Verdict.Accepted, hello.trace)
          begin(role, connection, options, hello.largest, hello.seconds, isAccepting = true, options.observer, seen)
      }
    } catch {
      case failed: ConnectFailed => throw failed
      case failed: IOException   => throw refused(None, String.valueOf(failed.getMessage), Some(failed))
    } finally if (!isDone) Dialogue.hangUp(channel)
  }

  private def judge(side: ServedSide, hello: Hello, options: ConnectOptions): Either[Int, (Answer, Hello)] =
    side.verdictOn(hello) match {
      case None                                                  => Left(Verdict.UnknownProtocol)
      case Some(_) if side.receivesFirst == hello.receivesFirst => Left(Verdict.SameSide)
      case Some(verdict) =>
        val session = Answer.Session(side.fingerprint, options.largest, options.heartbeat)
        Right((Answer(verdict, Some(session), 0L), hello))
    }
}
