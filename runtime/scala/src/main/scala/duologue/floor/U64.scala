package duologue

import java.lang.{Long => Bits}

/** Help with values of a `u64`, which are a `Long` with the same 64 bits. From 2^63^ on such a `Long` is negative, so text, order and
  * division have to be those of unsigned numbers; addition, subtraction, multiplication and equality are the same for both.
  *
  * {{{
  * import duologue.U64._
  *
  * val size = U64("18446744073709551615")
  * size.unsignedText
  * size.unsignedCompare(1L) > 0
  * }}}
  */
object U64 {

  /** The largest value, 2^64^ - 1. */
  val Max: Long = -1L

  /** The value that `text` says in decimal digits. Throws `NumberFormatException` if it says none. */
  def apply(text: String): Long = Bits.parseUnsignedLong(text)

  /** The value of `number`. Throws `IllegalArgumentException` if it is negative, or larger than [[Max]]. */
  def apply(number: BigInt): Long = {
    if (number.signum < 0 || number.bitLength > 64) throw new IllegalArgumentException(number.toString + " is out of range for a u64")
    number.toLong
  }

  /** The order of unsigned numbers, for sorting: `sizes.sorted(U64.ordering)`. */
  val ordering: Ordering[Long] = new Ordering[Long] {
    def compare(one: Long, other: Long): Int = Bits.compareUnsigned(one, other)
  }

  implicit final class U64Ops(private val bits: Long) extends AnyVal {

    /** The value in decimal digits. */
    def unsignedText: String = Bits.toUnsignedString(bits)

    /** Negative, zero or positive if this value is smaller than, equal to or larger than `other`. */
    def unsignedCompare(other: Long): Int = Bits.compareUnsigned(bits, other)

    /** The quotient. Throws `ArithmeticException` if `other` is 0. */
    def unsignedDivide(other: Long): Long = Bits.divideUnsigned(bits, other)

    /** The remainder. Throws `ArithmeticException` if `other` is 0. */
    def unsignedRemainder(other: Long): Long = Bits.remainderUnsigned(bits, other)

    /** The value as a number that has no limit. */
    def toUnsignedBigInt: BigInt = if (bits >= 0L) BigInt(bits) else BigInt(bits) + (BigInt(1) << 64)
  }
}
