package duologue.bench

import duologue.PortSet
import duologue.bench.talks.parts
import scala.jdk.CollectionConverters.*
import zio.{Queue as ZioQueue, ZIO}

/** Word count of a large text, whose parts go to two workers. */
object Words {
  def of(peer: String): Origin = {
    val count: () => Totals = peer match {
      case "duologue"       => () => overSessions()
      case "ZIO.foreachPar" => () => foreachPar()
      case "ZIO Queue"      => () => overQueue()
    }
    operations => (1 to operations).map(_ => checked(count())).sum
  }

  private def checked(totals: Totals): Long = {
    val sum = totals.values.asScala.map(_(0)).sum
    if (sum != count || totals.size != different) throw new AssertionError(sum)
    sum
  }

  /** How many megabytes the text has. */
  val Size: Int = Integer.getInteger("duologue.bench.megabytes", 100)

  /** How many characters a part has at least. */
  private val Part = 250000
  private val Workers = 2

  /** How often each word occurs. */
  type Totals = java.util.HashMap[String, Array[Long]]

  /** The text, the number of its words, and how many of them differ. Common words are a large part of it. */
  private val (text, count, different) = {
    val random = new scala.util.Random(1)
    val all = Array.tabulate(10000)(number => number.toString + random.alphanumeric.take(random.nextInt(8)).mkString)
    val used = new java.util.HashSet[String]
    val parts = Vector.newBuilder[String]
    val part = new StringBuilder
    var left = Size * 1000000
    var count = 0L
    while (left > 0) {
      val word = all(random.nextInt(random.nextInt(all.length) + 1))
      used.add(word): Unit
      count += 1
      part.append(word).append(' ')
      if (part.length >= math.min(Part, left)) {
        left -= part.length
        parts += part.toString
        part.clear()
      }
    }
    (parts.result(), count, used.size)
  }

  private def add(part: String, totals: Totals): Unit = {
    var start = 0
    while (start < part.length) {
      val end = part.indexOf(' ', start)
      totals.computeIfAbsent(part.substring(start, end), _ => new Array[Long](1))(0) += 1
      start = end + 1
    }
  }

  private def merged(all: Iterable[Totals]): Totals = all.reduce { (totals, some) =>
    some.forEach((word, times) => totals.computeIfAbsent(word, _ => new Array[Long](1))(0) += times(0))
    totals
  }

  /** A session with each worker, in which the worker asks for parts. */
  private def overSessions(): Totals = {
    val set = PortSet[parts.Asking[Totals], Unit]()
    for (_ <- 1 to Workers) {
      val (server, client) = parts.init[Totals]()
      set.add(server, ())
      new Thread(() => work(client)).start()
    }
    val left = text.iterator
    var ending = Vector.empty[parts.server.Totals[Totals]]
    while (set.nonEmpty) set.recv() match {
      case PortSet.Received(_, parts.Asking.Ask(worker)) =>
        if (left.hasNext) set.add(worker.part(left.next()), ()) else ending :+= worker.none()
      case PortSet.Closed(_, why) => throw why
    }
    merged(ending.map(_.recv().totals))
  }

  /** Asks for the next part before it counts one, which arrives meanwhile. */
  private def work(first: parts.client.Asking[Totals]): Unit = {
    val totals = new Totals
    var asked = Option(first.ask())
    while (asked.nonEmpty) asked.get.recv() match {
      case parts.Part.Part(text, next) =>
        asked = Some(next.ask())
        add(text, totals)
      case parts.Part.None(end) =>
        end.totals(totals)
        asked = None
    }
  }

  /** Some groups for each worker, so that both end at the same time, and few totals are merged. */
  private def foreachPar(): Totals = {
    val groups = text.grouped(math.max(1, text.size / (8 * Workers))).toVector
    val counted = ZIO.foreachPar(groups) { group =>
      ZIO.succeed {
        val totals = new Totals
        group.foreach(add(_, totals))
        totals
      }
    }
    merged(OfZio.run(counted.withParallelism(Workers)))
  }

  /** An empty part is the end. */
  private def overQueue(): Totals = OfZio.run {
    for {
      queue <- ZioQueue.bounded[String](Link.Room)
      fibers <- ZIO.foreach(Vector.fill(Workers)(new Totals))(totals => receive(queue, totals).fork)
      _ <- ZIO.foreachDiscard(text ++ Vector.fill(Workers)(""))(queue.offer)
      all <- ZIO.foreach(fibers)(_.join)
    } yield merged(all)
  }

  private def receive(queue: ZioQueue[String], totals: Totals): ZIO[Any, Nothing, Totals] = queue.take.flatMap { part =>
    if (part.isEmpty) ZIO.succeed(totals)
    else ZIO.succeed(add(part, totals)) *> receive(queue, totals)
  }
}
