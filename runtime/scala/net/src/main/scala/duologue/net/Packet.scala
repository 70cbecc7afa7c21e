package duologue.net

import duologue.{MalformedPayload, PayloadReader, PayloadWriter}
import java.util.Arrays

/** A message between two processes at a broker, taken apart: see `docs/wire.md`. Counts are unsigned.
  *
  * @param number
  *   how many numbered messages the sender has sent, including this one
  * @param received
  *   how many numbered messages have arrived at the sender
  * @param read
  *   how much credit the sender has used up by reading
  * @param window
  *   how much credit the sender gives
  */
private[net] final class Packet(
    val kind: Int,
    val number: Long,
    val received: Long,
    val read: Long,
    val window: Long,
    val bytes: Array[Byte]
) {
  import Packet.{Version, hasCounts, hasWindow}

  def encode: Array[Byte] = {
    val out = new PayloadWriter
    out.u8(kind)
    if (hasWindow(kind)) out.u8(Version)
    if (hasCounts(kind)) {
      out.count(number)
      out.count(received)
      out.count(read)
    }
    if (hasWindow(kind)) out.count(window)
    // A message can be long, so its bytes are copied only once.
    val header = out.toByteArray
    val message = Arrays.copyOf(header, header.length + bytes.length)
    System.arraycopy(bytes, 0, message, header.length, bytes.length)
    message
  }
}

private[net] object Packet {

  /** Begins a session; the first message of the connecting side. */
  val Open = 0

  /** The first message of the accepting side. */
  val Accept = 1

  /** Bytes of the stream. */
  val Data = 2

  /** The end of the stream in this direction. */
  val End = 3

  /** Asks what has arrived. */
  val Ask = 4

  /** Says what has arrived. */
  val Answer = 5

  /** Something was lost, or the side is gone: the session is over. */
  val Lost = 6

  /** There is no such session. */
  val Gone = 7

  /** The process is still there. */
  val Alive = 8

  private val Version = 1
  private val Empty = Array.emptyByteArray

  private def hasCounts(kind: Int): Boolean = kind <= Answer
  private def hasWindow(kind: Int): Boolean = kind == Open || kind == Accept
  private def carries(kind: Int): Boolean = kind <= Data || kind == Alive

  /** Whether the message has a number of its own. Ask and answer repeat the number of the last one that has. */
  def isNumbered(kind: Int): Boolean = kind <= End

  /** A message without counts. */
  def plain(kind: Int, bytes: Array[Byte] = Empty): Packet = new Packet(kind, 0L, 0L, 0L, 0L, bytes)

  /** `None` if no correct peer of this version sends it. */
  def decode(message: Array[Byte]): Option[Packet] =
    try {
      val in = new PayloadReader(message)
      val kind = in.u8()
      if (kind > Alive || hasWindow(kind) && in.u8() != Version) None
      else {
        val number = if (hasCounts(kind)) in.count() else 0L
        val received = if (hasCounts(kind)) in.count() else 0L
        val read = if (hasCounts(kind)) in.count() else 0L
        val window = if (hasWindow(kind)) in.count() else 0L
        val bytes = in.raw(in.left())
        if (bytes.isEmpty == carries(kind)) None else Some(new Packet(kind, number, received, read, window, bytes))
      }
    } catch { case _: MalformedPayload => None }
}
