package duologue.robots

import duologue.Bytes

/** Where a robot's decisions come from: which message it sends, with which values, when it is slow and when it disconnects. For one
  * thread at a time. The next session goes on where the last one stopped.
  */
final class Choices private (source: Choices.Source) {

  /** The next byte, or 0 if none are left. */
  private[robots] def byte(): Int = source.byte()
}

object Choices {
  private abstract class Source {
    def byte(): Int
  }

  /** These bytes, and then the shortest way to the end: for property tests and fuzzers. */
  def bytes(bytes: Array[Byte]): Choices = Choices.bytes(duologue.Bytes.copyOf(bytes))

  /** These bytes, and then the shortest way to the end: for property tests and fuzzers. */
  def bytes(bytes: Bytes): Choices = new Choices(new Source {
    private var at = 0

    def byte(): Int =
      if (at == bytes.length) 0
      else {
        at += 1
        bytes(at - 1) & 0xff
      }
  })

  /** Choices without an end that follow from the seed. */
  def seed(seed: Long): Choices = new Choices(new Source {
    private var state = seed
    private var word = 0L
    private var left = 0

    def byte(): Int = {
      if (left == 0) {
        word = mix()
        left = 8
      }
      left -= 1
      val next = (word & 0xffL).toInt
      word >>>= 8
      next
    }

    /** SplitMix64, by Steele, Lea and Flood (2014). */
    private def mix(): Long = {
      state += 0x9e3779b97f4a7c15L
      val one = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L
      val two = (one ^ (one >>> 27)) * 0x94d049bb133111ebL
      two ^ (two >>> 31)
    }
  })

  /** Always the nearest message that has not been seen. */
  def covering(): Choices = new Choices(new Source {
    def byte(): Int = 1
  })
}
