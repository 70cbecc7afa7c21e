package duologue.net

import java.security.SecureRandom

/** The subjects of messages at a broker: see `docs/wire.md`. */
private[net] object Subjects {

  /** What all addresses of processes begin with. */
  private val Prefix = "duo.at."

  /** No address is longer. */
  private val Longest = 256
  private val LongestName = 128

  private val source = new SecureRandom

  /** 16 random bytes, as 32 hexadecimal digits. */
  def random(): String = {
    val bytes = new Array[Byte](16)
    source.nextBytes(bytes)
    bytes.map(byte => f"$byte%02x").mkString
  }

  def isPlain(byte: Char): Boolean =
    byte >= 'a' && byte <= 'z' || byte >= 'A' && byte <= 'Z' || byte >= '0' && byte <= '9' || byte == '-' || byte == '_'

  /** Whether this is one or more tokens of a subject, separated by dots. */
  def isName(text: String): Boolean =
    text.length <= Longest && text.split("\\.", -1).forall(token => token.nonEmpty && token.forall(isPlain(_)))

  /** What is wrong with the name of a group of servers. */
  def problemOf(name: String): Option[String] =
    if (!isName(name) || name.length > LongestName) Some("a name has at most 128 letters, digits, `-`, `_` and dots between them")
    else if (name == "at" || name.startsWith("at.")) Some("names that begin with `at` are for processes")
    else None

  /** The process and the token of an address in a process. */
  def parts(address: String): Option[(String, String)] = {
    val rest = address.stripPrefix(Prefix)
    val dot = rest.lastIndexOf('.'.toInt)
    if (!address.startsWith(Prefix) || dot < 0 || !isName(rest)) None else Some((rest.substring(0, dot), rest.substring(dot + 1)))
  }

  /** The process of the address of a side of a session, whose token is random. */
  def processOfSide(address: String): Option[String] = {
    def isDigit(digit: Char) = digit >= '0' && digit <= '9' || digit >= 'a' && digit <= 'f'
    parts(address).collect { case (process, token) if token.length == 32 && token.forall(isDigit(_)) => process }
  }

  /** The address of a side of a session, or of something else in a process. */
  def address(process: String, token: String): String = Prefix + process + "." + token

  /** The subject of the servers of a protocol: of those that can take a session, or of those that have been full at some time. */
  def subject(name: String, fingerprint: Fingerprint, isFull: Boolean = false): String =
    "duo." + name + "." + (if (isFull) "full-" else "") + fingerprint.toString
}
