package duologue.robots

import duologue.{Bytes, Endpoint, abandon}

/** Makes the values of a message from a robot's [[Choices]]. Programs use it to make values of their own types. */
final class Values private[robots] (choices: Choices) {
  private var spent = 0L
  /** How many items, characters and bytes have been promised. */
  private var reserved = 0L
  private var depth = 0
  private var isMinimal = false
  private var isTired = false

  /** Begins the values of a message. */
  private[robots] def begin(): Unit = {
    spent = 0L
    reserved = 0L
    depth = 0
  }

  /** Counts a value that is about to be made. A value that is too deep, or comes after too many others, is as small as its type allows. */
  private def spend(): Unit = {
    isMinimal = depth >= Values.MostDepth || spent >= Values.MostSpent
    spent += 1L
    isTired = depth >= 4 || spent > 64L
  }

  /** For generated code: a value without parts. */
  def one[T](value: => T): T = {
    spend()
    value
  }

  /** For generated code: a value that is made of its parts. */
  def parts[T](value: => T): T = {
    spend()
    inside(value)
  }

  /** For generated code: the parts of a value that has been counted. */
  def inside[T](value: => T): T = {
    depth += 1
    val made = value
    depth -= 1
    made
  }

  /** The next byte of the choices, or 0 if none are left. */
  def byte(): Int = choices.byte()

  private def exact(size: Int): Long = {
    var number = 0L
    var at = 0
    while (at < size) {
      number |= choices.byte().toLong << (8 * at)
      at += 1
    }
    number
  }

  /** A number of `size` bytes, in the lowest bytes of the result. */
  private def integer(size: Int, isSigned: Boolean): Long = {
    spend()
    val byte = choices.byte()
    if (byte < 128) byte.toLong
    else if (byte < 192) { if (isSigned) 127L - byte else -1L - (byte - 128L) }
    else if (byte < 240) Values.Borders((byte - 192) % 16)
    else exact(size)
  }

  def bool(): Boolean = {
    spend()
    choices.byte() % 2 == 1
  }

  def u8(): Int = (integer(1, isSigned = false) & 0xffL).toInt
  def u16(): Int = (integer(2, isSigned = false) & 0xffffL).toInt
  def u32(): Long = integer(4, isSigned = false) & 0xffffffffL

  /** The 64 bits of the number: see [[duologue.U64]]. */
  def u64(): Long = integer(8, isSigned = false)
  def i8(): Byte = integer(1, isSigned = true).toByte
  def i16(): Short = integer(2, isSigned = true).toShort
  def i32(): Int = integer(4, isSigned = true).toInt
  def i64(): Long = integer(8, isSigned = true)

  /** A number of which no bits follow, or `None`. */
  private def near(): Option[Double] = {
    spend()
    val byte = choices.byte()
    if (byte < 128) Some(byte * 0.25) else if (byte < 224) Some(Values.Reals(byte % 8)) else None
  }

  /** A number, perhaps infinite or no number. */
  def f32(): Float = near() match {
    case Some(near) => near.toFloat
    case None       => java.lang.Float.intBitsToFloat(exact(4).toInt)
  }

  /** A number, perhaps infinite or no number. */
  def f64(): Double = near() match {
    case Some(near) => near
    case None       => java.lang.Double.longBitsToDouble(exact(8))
  }

  /** The length of a list, text or byte string whose type allows `most`. */
  def count(most: Long = Long.MaxValue): Int = {
    spend()
    if (isMinimal) 0
    else {
      val byte = choices.byte()
      val count =
        if (byte < 8) byte.toLong
        else if (byte == 255) {
          val next = choices.byte()
          if (next == 255) exact(2) else next.toLong
        } else if (isTired) 0L
        else if (byte < 248) byte % 4L
        else byte - 240L
      val left = math.max(0L, Values.MostSpent - math.max(spent, reserved))
      val least = math.min(math.min(count, most), left)
      reserved += least
      least.toInt
    }
  }

  private def character(): Int = {
    val byte = choices.byte()
    if (byte < 26) 'a' + byte
    else if (byte < 52) 'A' + (byte - 26)
    else if (byte < 62) '0' + (byte - 52)
    else if (byte == 62) ' '
    else if (byte == 63) '_'
    else if (byte < 224) 'a' + byte % 26
    else if (byte < 240) Values.Characters(byte - 224)
    else {
      val code = exact(3).toInt
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) 0xfffd else code
    }
  }

  /** A text of at most `most` bytes of UTF-8. */
  def text(most: Long = Long.MaxValue): String = {
    var left = count(most)
    val text = new java.lang.StringBuilder
    var size = 0L
    while (left > 0) {
      left -= 1
      spent += 1L
      val code = character()
      size += (if (code < 0x80) 1L else if (code < 0x800) 2L else if (code < 0x10000) 3L else 4L)
      if (size > most) left = 0 else text.appendCodePoint(code): Unit
    }
    text.toString
  }

  /** At most `most` bytes. */
  def bytes(most: Long = Long.MaxValue): Bytes = {
    val array = new Array[Byte](count(most))
    spent += array.length.toLong
    array.indices.foreach(at => array(at) = choices.byte().toByte)
    scala.collection.immutable.ArraySeq.unsafeWrapArray(array)
  }

  /** At most `most` items. */
  def list[T](most: Long = Long.MaxValue)(item: => T): Vector[T] = {
    val count = this.count(most)
    inside(Vector.fill(count)(item))
  }

  def option[T](some: => T): Option[T] = {
    spend()
    if (isMinimal) None
    else {
      val byte = choices.byte()
      if (byte == 1 || (byte > 1 && !isTired && byte % 2 == 1)) Some(inside(some)) else None
    }
  }

  /** For generated code: one of `count` variants, of which the one at `shallow` has the smallest values. */
  def variant(count: Int, shallow: Int): Int = {
    spend()
    if (isMinimal) shallow
    else if (count <= 1) 0
    else {
      val low = choices.byte()
      val chosen = if (count > 128) low | choices.byte() << 8 else low
      if (chosen < count) chosen else if (isTired) shallow else chosen % count
    }
  }

  /** For generated code: the server's side of a new session, whose client disconnects. */
  def server[S <: Endpoint](session: (S, Endpoint)): S = {
    spend()
    abandon(session._2)
    session._1
  }

  /** For generated code: the client's side of a new session, whose server disconnects. */
  def client[C <: Endpoint](session: (Endpoint, C)): C = {
    spend()
    abandon(session._1)
    session._2
  }
}

private object Values {
  val MostDepth = 64
  val MostSpent = 65536L

  /** Integers at which something changes. */
  val Borders: Vector[Long] = Vector(0x7fL, 0x80L, 0xffL, 0x100L, 0x7fffL, 0x8000L, 0xffffL, 0x10000L, 0x7fffffffL, 0x80000000L, 0xffffffffL,
    0x100000000L, Long.MaxValue, Long.MinValue, -1L, 0x5555555555555555L)

  val Reals: Vector[Double] = Vector(-1.0, 1000.0, -1000.0, 1000000.0, 0.5, -0.5, 100.25, 65536.0)

  val Characters: Vector[Int] =
    Vector[Int]('"', '\\', '\n', '\t', '\'', '/', '%', 0xe9, 0x20ac, 0x1f600, 0xfffd, 0x301, 0x202e, 0x7f, 0xfeff, 0x1f)
}
