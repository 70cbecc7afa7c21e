package duologue

import duologue.U64._

/** Values of a `u64`. */
final class U64Suite extends RuntimeSuite {

  private val whole = BigInt(1) << 64
  private val samples = List(BigInt(0), BigInt(1), BigInt(10), BigInt(Long.MaxValue), BigInt(Long.MaxValue) + 1, whole - 2, whole - 1)

  test("a value is read from text and numbers, and written as both") {
    for (number <- samples) {
      assertEquals(U64(number).unsignedText, number.toString)
      assertEquals(U64(number).toUnsignedBigInt, number)
      assertEquals(U64(number.toString), U64(number))
    }
    assertEquals(U64.Max.toUnsignedBigInt, whole - 1)
  }

  test("order and division are those of the numbers, and sums those of the bits") {
    for (one <- samples; other <- samples) {
      val (a, b) = (U64(one), U64(other))
      assertEquals(a.unsignedCompare(b).sign, one.compare(other).sign)
      assertEquals((a + b).toUnsignedBigInt, (one + other) % whole)
      assertEquals((a * b).toUnsignedBigInt, (one * other) % whole)
      if (other != BigInt(0)) assertEquals((a.unsignedDivide(b).toUnsignedBigInt, a.unsignedRemainder(b).toUnsignedBigInt), one /% other)
    }
    assertEquals(samples.reverse.map(U64(_)).sorted(U64.ordering).map(_.toUnsignedBigInt), samples)
    intercept[ArithmeticException](1L.unsignedDivide(0L)): Unit
    intercept[ArithmeticException](1L.unsignedRemainder(0L)): Unit
  }

  test("what is not a value of a u64 is refused") {
    for (text <- List("", "-1", "x", whole.toString, "1.0")) intercept[NumberFormatException](U64(text)): Unit
    for (number <- List(BigInt(-1), whole, -whole)) intercept[IllegalArgumentException](U64(number)): Unit
  }
}
