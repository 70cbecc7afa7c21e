package duologue.net

import duologue.{MalformedPayload, PayloadReader, PayloadWriter, Role}

/** The fingerprint of a protocol: 16 bytes. */
final class Fingerprint private (private val bytes: Vector[Byte]) {

  private[net] def toArray: Array[Byte] = bytes.toArray

  override def equals(other: Any): Boolean = other match {
    case that: Fingerprint => bytes == that.bytes
    case _                 => false
  }

  override def hashCode: Int = bytes.hashCode

  /** In hexadecimal, as `duologue fingerprint` prints it. */
  override def toString: String = bytes.map(byte => f"$byte%02x").mkString
}

object Fingerprint {
  implicit val comparable: duologue.strict.Equality.Of[Fingerprint] = duologue.strict.Equality.any

  private[net] val Size = 16

  /** From hexadecimal. Throws `IllegalArgumentException` if the text is not 32 hexadecimal digits. */
  def apply(text: String): Fingerprint = {
    if (text.length != 2 * Size || !text.forall(digit => Character.digit(digit, 16) >= 0))
      throw new IllegalArgumentException("a fingerprint consists of 32 hexadecimal digits, and `" + text + "` does not")
    new Fingerprint(text.grouped(2).map(byte => Integer.parseInt(byte, 16).toByte).toVector)
  }

  private[net] def of(bytes: Array[Byte]): Fingerprint = new Fingerprint(bytes.toVector)

  /** Those of older versions that a side accepts according to its protocol file. */
  private[net] def acceptedBy(role: Role): Seq[Fingerprint] = role.$protocol.accepts(role.$isClient).map(of(_)).toSeq
}

/** An accepting side's response to a hello. */
private[net] object Verdict {
  val Equal = 0
  val Accepted = 1
  val InList = 2
  val UnknownProtocol = 16
  val UnknownVersion = 17
  val Full = 18
  val NotAdmitted = 19
  val Draining = 20
  val Malformed = 21
  val SameSide = 22

  /** The lowest verdict with which no session begins. */
  val Refusal = 16

  /** The same for the side that has decided. */
  def short(verdict: Int): String = verdict match {
    case UnknownProtocol => "the protocol is not served"
    case UnknownVersion  => "the version of the format is unknown"
    case Full            => "it has reached its session limit"
    case NotAdmitted     => "not admitted"
    case Draining        => "it is draining and accepts no further sessions"
    case Malformed       => "the hello is malformed"
    case SameSide        => "both sides would send first, or both would receive first"
    case other           => "verdict " + other.toString
  }

  def meaning(verdict: Int): String = verdict match {
    case UnknownProtocol => "the peer does not serve this protocol; compare the fingerprints of both sides with `duologue fingerprint`"
    case UnknownVersion  => "the peer does not know this version of the format"
    case Full            => "the peer has reached its session limit; try again later"
    case NotAdmitted     => "the peer does not admit this side"
    case Draining        => "the peer is draining and accepts no further sessions; try again later or elsewhere"
    case Malformed       => "the peer could not read the hello"
    case SameSide        => "both sides would send first, or both would receive first: one must be the client and the other the server"
    case other           => "the peer gave the unknown verdict " + other.toString
  }
}

/** What a connecting side sends first: see `docs/wire.md`. */
private[net] final case class Hello(
    fingerprint: Fingerprint,
    receivesFirst: Boolean,
    largest: Long,
    seconds: Int,
    name: String,
    accepts: Vector[Fingerprint],
    trace: Option[TraceContext],
    token: Option[Vector[Byte]]
) {

  def encode: Array[Byte] = {
    val rest = new PayloadWriter
    rest.raw(fingerprint.toArray)
    rest.u32(largest)
    rest.u32(0L)
    rest.u16(seconds)
    rest.str(name)
    rest.count(accepts.length.toLong)
    accepts.foreach(each => rest.raw(each.toArray))
    trace.foreach(each => rest.raw(each.bytes.toArray))
    token.foreach(each => rest.bytes(each.toArray))
    val body = rest.toByteArray
    val flags = List(receivesFirst, trace.nonEmpty, token.nonEmpty).zipWithIndex.collect { case (true, bit) => 1 << bit }.sum
    Handshake.framed(Handshake.Version, flags, body)
  }
}

/** What an accepting side answers. `session` is absent if there is no session. */
private[net] final case class Answer(verdict: Int, session: Option[Answer.Session], waitMillis: Long) {

  def encode: Array[Byte] = {
    val rest = new PayloadWriter
    session match {
      case Some(session) =>
        rest.raw(session.fingerprint.toArray)
        rest.u32(session.largest)
        rest.u32(0L)
        rest.u16(session.seconds)
      case None => rest.u32(waitMillis)
    }
    Handshake.framed(Handshake.Version, verdict, rest.toByteArray)
  }
}

private[net] object Answer {
  final case class Session(fingerprint: Fingerprint, largest: Long, seconds: Int)

  def refusal(verdict: Int): Answer = Answer(verdict, None, 0L)
}

private[net] object Handshake {
  val Magic: Array[Byte] = "duologue".getBytes(java.nio.charset.StandardCharsets.US_ASCII)
  val Version = 1

  /** How many bytes a hello or an answer begins with; the length at their end counts those that follow. */
  val Head = 12

  /** The smallest value that a side may announce as its largest payload. */
  val Least = 1024L

  private val LongestName = 255

  /** No hello has more bytes after its head. */
  val MostRest = 4096
  val MostAccepted = 16

  /** Whether a peer that begins like this speaks TLS: an alert or a handshake. */
  def isTls(bytes: Array[Byte]): Boolean = bytes.length >= 2 && (bytes(0) == 0x15 || bytes(0) == 0x16) && bytes(1) == 3

  def framed(version: Int, second: Int, body: Array[Byte]): Array[Byte] = {
    val out = new PayloadWriter
    out.raw(Magic)
    out.u8(version)
    out.u8(second)
    out.u16(body.length)
    out.raw(body)
    out.toByteArray
  }

  /** What the first bytes of a hello mean: how many follow, or the verdict; `None` if it is not a hello. */
  def helloHead(head: Array[Byte]): Option[Either[Int, Int]] =
    if (!head.startsWith(Magic)) None
    else {
      val (version, flags) = (head(8).toInt, head(9) & 0xff)
      val length = lengthOf(head)
      val most = if ((flags & 4) != 0) MostRest else 1024
      if (version != Version) Some(Left(Verdict.UnknownVersion))
      else if ((flags & ~7) != 0 || length < 28 || length > most) Some(Left(Verdict.Malformed))
      else Some(Right(length))
    }

  /** How many bytes follow the first ones of an answer. Throws [[MalformedPayload]] if it is not an answer. */
  def answerHead(head: Array[Byte]): Int = {
    if (!head.startsWith(Magic)) throw new MalformedPayload("the peer is not a Duologue listener")
    val expected = if ((head(9) & 0xff) < Verdict.Refusal) 26 else 4
    if (lengthOf(head) != expected) throw new MalformedPayload("the peer's answer is malformed")
    expected
  }

  private def lengthOf(head: Array[Byte]): Int = (head(10) & 0xff) | (head(11) & 0xff) << 8

  /** The hello with these parts. Throws [[MalformedPayload]] if the rest is malformed. */
  def hello(head: Array[Byte], rest: Array[Byte]): Hello = {
    val flags = head(9) & 0xff
    val in = new PayloadReader(rest)
    val fingerprint = Fingerprint.of(in.raw(Fingerprint.Size))
    val (largest, seconds) = sizes(in)
    val name = in.str()
    if (name.getBytes(java.nio.charset.StandardCharsets.UTF_8).length > LongestName)
      throw new MalformedPayload("the protocol's name is too long")
    val count = in.count()
    if (count < 0L || count > MostAccepted) throw new MalformedPayload("too many fingerprints")
    val accepts = Vector.fill(count.toInt)(Fingerprint.of(in.raw(Fingerprint.Size)))
    val trace = if ((flags & 2) != 0) Some(TraceContext.of(in.raw(TraceContext.Size))) else None
    val token = if ((flags & 4) != 0) Some(in.bytes().toVector) else None
    in.finish()
    Hello(fingerprint, (flags & 1) != 0, largest, seconds, name, accepts, trace, token)
  }

  /** The answer with these parts. Throws [[MalformedPayload]] if it is malformed. */
  def answer(head: Array[Byte], rest: Array[Byte]): Answer = {
    val verdict = head(9) & 0xff
    val in = new PayloadReader(rest)
    if (verdict >= Verdict.Refusal) Answer(verdict, None, in.u32())
    else {
      if (head(8) != Version || verdict > Verdict.InList) throw new MalformedPayload("the peer's answer is malformed")
      val fingerprint = Fingerprint.of(in.raw(Fingerprint.Size))
      val (largest, seconds) = sizes(in)
      Answer(verdict, Some(Answer.Session(fingerprint, largest, seconds)), 0L)
    }
  }

  private def sizes(in: PayloadReader): (Long, Int) = {
    val largest = in.u32()
    if (largest < Least) throw new MalformedPayload("the largest payload is too small")
    if (in.u32() != 0L) throw new MalformedPayload("a reserved field is not 0")
    (largest, in.u16())
  }
}
