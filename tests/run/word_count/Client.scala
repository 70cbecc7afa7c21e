package cases.word_count

import cases.Transcript
import cases.Transcript.quoted
import protocols.word_count
import scala.annotation.tailrec

object Client {
  def run(endpoint: word_count.client.Counting, transcript: Transcript): Unit = {
    var counting = endpoint
    for (word <- List("the", "cat", "and", "the", "hat")) counting = counting.count(word, 1L)
    read(counting.done(), transcript)
  }

  @tailrec
  private def read(endpoint: word_count.client.Totals, transcript: Transcript): Unit = endpoint.recv() match {
    case word_count.Totals.Total(word, n, next) =>
      transcript.line("client <- total(" + quoted(word) + ", " + n.toString + ")")
      read(next, transcript)
    case word_count.Totals.End() => transcript.line("client <- end")
  }
}
