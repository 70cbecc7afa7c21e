package cases.long_words

import cases.Transcript
import protocols.word_count
import scala.annotation.tailrec

object Client {
  def word(size: Int, n: Long): String = {
    val letters = new Array[Char](size)
    for (i <- letters.indices) letters(i) = ('a' + (7L * i + n) % 26).toChar
    new String(letters)
  }

  def run(endpoint: word_count.client.Counting, transcript: Transcript): Unit = {
    val sizes = List(10000, 20000, 70000, 500000) ++ List.fill(4)(1000000)
    val counting = sizes.zipWithIndex.foldLeft(endpoint) { case (next, (size, n)) => next.count(word(size, n.toLong), n.toLong) }
    read(counting.done(), transcript)
  }

  @tailrec
  private def read(endpoint: word_count.client.Totals, transcript: Transcript): Unit = endpoint.recv() match {
    case word_count.Totals.Total(got, n, next) =>
      if (got != word(got.length, n)) throw new IllegalStateException("another word")
      transcript.line("client <- total(" + got.length.toString + ", " + n.toString + ")")
      read(next, transcript)
    case word_count.Totals.End() => transcript.line("client <- end")
  }
}
