package duologue.robots

import duologue.Bytes
import java.lang.{Double => Bits, Long => Unsigned}
import java.math.{BigDecimal, MathContext, RoundingMode}
import scala.annotation.unused

/** For generated code: a transcript, to which it appends values. */
final class Line private[robots] () {
  private val written = new java.lang.StringBuilder

  private[robots] def transcript: String = written.toString

  private[robots] def begin(receiver: String, message: String): Unit = written.append(receiver).append(" <- ").append(message): Unit

  private[robots] def closed(receiver: String): Unit = written.append(receiver).append(" <- closed\n"): Unit

  /** Ends a line. */
  def end(): Unit = written.append('\n'): Unit

  /** A text as it is. */
  def raw(text: String): Unit = written.append(text): Unit

  /** A text in place of a value. */
  def instead(@unused value: Any, text: String): Unit = raw(text)

  def bool(value: Boolean): Unit = written.append(value): Unit
  def u8(value: Int): Unit = written.append(value): Unit
  def u16(value: Int): Unit = written.append(value): Unit
  def u32(value: Long): Unit = written.append(value): Unit
  def u64(value: Long): Unit = raw(Unsigned.toUnsignedString(value))
  def i8(value: Byte): Unit = written.append(value.toInt): Unit
  def i16(value: Short): Unit = written.append(value.toInt): Unit
  def i32(value: Int): Unit = written.append(value): Unit
  def i64(value: Long): Unit = written.append(value): Unit
  def f32(value: Float): Unit = f64(value.toDouble)

  /** With two decimals if they are exact, otherwise with 17 digits. */
  def f64(value: Double): Unit =
    if (value.isNaN) raw("NaN")
    else if (value.isInfinite) raw(if (value > 0.0) "inf" else "-inf")
    else {
      val sign = if (Bits.doubleToRawLongBits(value) < 0L) "-" else ""
      val exact = new BigDecimal(math.abs(value))
      val short = sign + exact.setScale(2, RoundingMode.HALF_EVEN).toPlainString
      val isSame = Bits.doubleToRawLongBits(Bits.parseDouble(short)) == Bits.doubleToRawLongBits(value)
      raw(if (isSame && math.abs(value) < 1e15) short else sign + scientific(exact))
    }

  /** With 17 digits. */
  private def scientific(exact: BigDecimal): String = {
    val rounded = exact.round(new MathContext(17, RoundingMode.HALF_EVEN))
    val digits = rounded.unscaledValue.toString.padTo(17, '0')
    digits.take(1) + "." + digits.drop(1) + "e" + (rounded.precision - 1 - rounded.scale).toString
  }

  /** In quotes. */
  def text(value: String): Unit = {
    written.append('"'): Unit
    value.codePoints.forEach { code =>
      if (code == '"' || code == '\\') written.append('\\').append(code.toChar): Unit
      else if (code == '\n') written.append("\\n"): Unit
      else if (Line.isHidden(code)) written.append("\\u{").append(code.toHexString).append('}'): Unit
      else written.appendCodePoint(code): Unit
    }
    written.append('"'): Unit
  }

  /** As hexadecimal digits. */
  def bytes(value: Bytes): Unit = {
    written.append('<'): Unit
    value.foreach(byte => written.append(Character.forDigit(byte >> 4 & 0xf, 16)).append(Character.forDigit(byte & 0xf, 16)): Unit)
    written.append('>'): Unit
  }

  def list[T](values: Vector[T])(show: T => Unit): Unit = {
    raw("[")
    var isFirst = true
    values.foreach { value =>
      if (!isFirst) raw(", ")
      isFirst = false
      show(value)
    }
    raw("]")
  }

  def option[T](value: Option[T])(show: T => Unit): Unit = value match {
    case None => raw("none")
    case Some(some) =>
      raw("some(")
      show(some)
      raw(")")
  }
}

private object Line {

  /** Whether a character is not shown, or changes the direction of what is shown after it. */
  def isHidden(code: Int): Boolean =
    Character.isISOControl(code) || code == 0x61c || code == 0x200e || code == 0x200f ||
      (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
}
