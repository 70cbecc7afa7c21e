package cases.word_count

import cases.Transcript
import cases.Transcript.quoted
import protocols.word_count
import scala.annotation.tailrec
import scala.collection.immutable.TreeMap

object Server {
  def run(endpoint: word_count.server.Counting, transcript: Transcript): Unit = count(endpoint, TreeMap.empty, transcript)

  @tailrec
  private def count(
      endpoint: word_count.server.Counting,
      totals: TreeMap[String, Long],
      transcript: Transcript
  ): Unit = endpoint.recv() match {
    case word_count.Counting.Count(word, n, next) =>
      transcript.line("server <- count(" + quoted(word) + ", " + n.toString + ")")
      count(next, totals.updated(word, totals.getOrElse(word, 0L) + n), transcript)
    case word_count.Counting.Done(next) =>
      transcript.line("server <- done")
      totals.foldLeft(next) { case (next, (word, n)) => next.total(word, n) }.end()
  }
}
