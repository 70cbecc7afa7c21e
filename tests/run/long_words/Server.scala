package cases.long_words

import cases.Transcript
import cases.long_words.Client.word
import protocols.word_count
import scala.annotation.tailrec

object Server {
  def run(endpoint: word_count.server.Counting, transcript: Transcript): Unit = count(endpoint, Vector.empty, transcript)

  @tailrec
  private def count(
      endpoint: word_count.server.Counting,
      words: Vector[(String, Long)],
      transcript: Transcript
  ): Unit = endpoint.recv() match {
    case word_count.Counting.Count(got, n, next) =>
      if (got != word(got.length, n)) throw new IllegalStateException("another word")
      transcript.line("server <- count(" + got.length.toString + ", " + n.toString + ")")
      count(next, words :+ ((got, n)), transcript)
    case word_count.Counting.Done(next) =>
      transcript.line("server <- done")
      words.foldLeft(next) { case (next, (word, n)) => next.total(word, n) }.end()
  }
}
