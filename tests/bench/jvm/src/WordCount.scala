package duologue.bench

import duologue.bench.talks.word_count
import scala.collection.mutable
import zio.{Queue as ZioQueue, ZIO}

/** Words to another thread, which counts them and answers with the number of different ones. */
object WordCount {
  val Count = 20000
  private val Different = 1000L

  /** An operation is a text of `Count` words. */
  def of(peer: String): Origin = {
    val counter: Counter = peer match {
      case "duologue"  => new Ours
      case "ZIO Queue" => new Zio
      case link        => new Two(Link.of(link), Link.of(link))
    }
    texts => (1 to texts).map(_ => checked(counter.run())).sum
  }

  private def checked(different: Long): Long = {
    if (different != Different) throw new AssertionError(different)
    different
  }

  private val words = Array.tabulate(Count)(i => "word" + (i * 7919L % Different).toString)
  private val last = new String("")

  private sealed trait Counter {
    def run(): Long
  }

  private final class Tally {
    private val totals = mutable.HashMap[String, Long]()

    def add(word: String): Unit = totals.update(word, totals.getOrElse(word, 0L) + 1L)

    def different(): Long = {
      val count = totals.size.toLong
      totals.clear()
      count
    }
  }

  private final class Ours extends Counter {
    private val session = word_count.init()
    private var server = session._1
    private var client = session._2
    private val tally = new Tally
    Beside.forever { () =>
      server = server.recv() match {
        case word_count.Counting.Count(word, next) =>
          tally.add(word)
          next
        case word_count.Counting.Done(next) => next.total(tally.different())
      }
    }

    def run(): Long = {
      var own = client
      var i = 0
      while (i < Count) {
        own = own.count(words(i))
        i += 1
      }
      val total = own.done().recv()
      client = total.next
      total.words
    }
  }

  private final class Two(there: Link[String], back: Link[java.lang.Long]) extends Counter {
    private val tally = new Tally
    Beside.forever { () =>
      val word = there.take()
      if (word eq last) back.put(java.lang.Long.valueOf(tally.different())) else tally.add(word)
    }

    def run(): Long = {
      var i = 0
      while (i < Count) {
        there.put(words(i))
        i += 1
      }
      there.put(last)
      back.take().longValue
    }
  }

  private final class Zio extends Counter {
    private val queue = OfZio.run(ZioQueue.bounded[String](Link.Room))
    private val tally = new Tally

    private def send(at: Int): ZIO[Any, Nothing, Unit] =
      if (at == Count) queue.offer(last).unit else queue.offer(words(at)).flatMap(_ => send(at + 1))

    private def receive: ZIO[Any, Nothing, Long] = queue.take.flatMap { word =>
      if (word eq last) ZIO.succeed(tally.different())
      else {
        tally.add(word)
        receive
      }
    }

    def run(): Long = OfZio.run(receive.fork.flatMap(receiver => send(0) *> receiver.join))
  }
}
