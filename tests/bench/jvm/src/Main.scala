package duologue.bench

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import org.openjdk.jmh.annotations.*
import org.openjdk.jmh.profile.GCProfiler
import org.openjdk.jmh.runner.Runner
import org.openjdk.jmh.runner.options.{OptionsBuilder, TimeValue, VerboseMode}
import scala.jdk.CollectionConverters.*

/** What JMH runs: one case of a family. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class Measured {
  @Param(Array("")) var family: String = scala.compiletime.uninitialized
  @Param(Array("")) var peer: String = scala.compiletime.uninitialized

  private var origin: Origin = scala.compiletime.uninitialized
  private var operations = 0

  @Setup
  def begin(): Unit = {
    val chosen = Main.family(family)
    operations = chosen.operations
    origin = chosen.of(peer)
  }

  @Benchmark
  def run(): Long = origin.run(operations)

  @TearDown
  def end(): Unit = origin.end()
}

/** One case of a family, and what the rounds measured. */
final class Case(val family: Family, val peer: String) {
  private var scores = Vector.empty[Double]
  var bytes: Double = 0.0

  def measure(quick: Boolean): Unit = {
    val base = new OptionsBuilder()
      .include("^" + classOf[Measured].getName.replace(".", "\\.") + "\\.")
      .param("family", family.name)
      .param("peer", peer)
      .operationsPerInvocation(family.operations * family.units)
      .verbosity(VerboseMode.SILENT)
      .shouldFailOnError(true)
    val sized =
      if (quick) base.forks(0).warmupIterations(0).measurementIterations(1).measurementTime(TimeValue.milliseconds(1))
      else
        base
          .forks(1)
          .warmupIterations(2)
          .warmupTime(TimeValue.milliseconds(500))
          .measurementIterations(5)
          .measurementTime(TimeValue.milliseconds(200))
          .addProfiler(classOf[GCProfiler])
          .jvmArgs("-XX:+UseParallelGC", "-Xms1g", "-Xmx1g")
    for (result <- new Runner(sized.build()).run().asScala; run <- result.getBenchmarkResults.asScala; each <- run.getIterationResults.asScala) {
      scores :+= each.getPrimaryResult.getScore
      each.getSecondaryResults.asScala.get("gc.alloc.rate.norm").foreach(allocated => bytes = allocated.getScore)
    }
    assert(scores.nonEmpty, family.name + ", " + peer + ": nothing was measured")
  }

  /** The value below which this part of the measurements lies. */
  def quantile(part: Double): Double = scores.sorted.apply(((scores.size - 1) * part).round.toInt)
}

/** Cases that do the same; ratios are relative to the first. An operation of [[Origin]] consists of so many units. */
final class Family(val name: String, val unit: String, val operations: Int, val units: Int)(val of: String => Origin)(peers: String*) {
  val cases: Seq[Case] = peers.map(peer => new Case(this, peer))

  def apply(peer: String): Case =
    cases.find(_.peer == peer).getOrElse(throw new NoSuchElementException("no case " + peer + " in " + name))
}

/** A ratio that must hold. */
final case class Bar(family: String, to: String, most: Double)

object Main {
  private val Ours = "duologue"
  private val Blocking = "ArrayBlockingQueue"
  private val Transfer = "LinkedTransferQueue"
  private val Jox = "jox channel"
  private val Spinning = "JCTools SPSC (busy spin)"
  private val Line = "raw line (busy spin)"
  private val Zio = "ZIO Queue"
  private val Each = "ZIO.foreachPar"
  private val Pekko = "Pekko actors"
  private val Raw = "SocketChannel"

  private def ring(threads: Int): Family = new Family(s"ring of $threads virtual threads", "message", 50000 / threads, threads)(
    ThreadRing.of(_, threads, threads)
  )(Blocking, Ours, Transfer, Jox)

  private val Families = Seq(
    new Family("ping-pong", "round trip", 1000, 1)(PingPong.of)(Line, Ours, Spinning, Blocking, Transfer, Jox, Zio),
    new Family("stream", "message", 10000, 1)(Stream.of)(Spinning, Ours, Blocking, Transfer, Jox, Zio),
    ring(100),
    ring(1000),
    new Family("thread-ring of 503, 1 token", "message", 100, 503)(ThreadRing.of(_, 503))(Transfer, Ours, "park and unpark", Jox, Pekko),
    new Family("big bang of 100 actors", "message", 5, 2 * 100 * 99)(BigBang.of(_, 100))(
      Transfer, Ours, "duologue, shared senders", Jox, Pekko
    ),
    new Family("bank session", "session", 1, 1)(Bank.of)(Ours, Jox, Blocking, Transfer),
    new Family("word count", "word", 1, WordCount.Count)(WordCount.of)(Zio, Ours, Blocking, Transfer, Jox),
    new Family("word count of 100 MB", "text", 1, 1)(Words.of)(Each, Ours, Zio),
    new Family("withdrawal over a Unix socket", "withdrawal", 1000, 1)(Withdrawal.of)(Raw, Ours)
  )

  def family(name: String): Family = Families.find(_.name == name).get

  private val Bars = Seq(
    Bar("ping-pong", Line, 1.3),
    Bar("stream", Spinning, 1.2),
    Bar("stream", Blocking, 0.3),
    Bar("stream", Transfer, 0.3),
    Bar("stream", Jox, 0.3),
    Bar("ring of 100 virtual threads", Blocking, 0.6),
    Bar("ring of 1000 virtual threads", Blocking, 0.6),
    Bar("bank session", Jox, 0.5),
    Bar("word count of 100 MB", Each, 1.1),
    Bar("word count of 100 MB", Zio, 1.1),
    Bar("withdrawal over a Unix socket", Raw, 1.3)
  )

  /** Without arguments all families are measured. `--quick` runs every case once, and every other argument selects the families whose names
    * begin with it.
    */
  def main(arguments: Array[String]): Unit = if (arguments.sameElements(Array("--serve"))) Origin.serve() else measure(arguments)

  private def measure(arguments: Array[String]): Unit = {
    val quick = arguments.contains("--quick")
    if (quick) System.setProperty("duologue.bench.megabytes", "3"): Unit
    val names = arguments.filterNot(_.startsWith("--"))
    val families = Families.filter(family => names.isEmpty || names.exists(name => family.name.startsWith(name)))
    assert(families.nonEmpty, "no family has such a name; there are: " + Families.map(_.name).mkString(", "))
    for (bar <- Bars) family(bar.family)(bar.to): Unit

    val rounds = if (quick) 1 else 3
    for (family <- families; round <- 1 to rounds) {
      val cases = if (round % 2 == 0) family.cases.reverse else family.cases
      cases.foreach(_.measure(quick))
    }
    println(if (quick) "every case works, and the cases of every bar exist" else report(families))
  }

  /** The name of the processor, where the system reports it. */
  private def processor: Option[String] = {
    val path = Path.of("/proc/cpuinfo")
    val lines = if (Files.exists(path)) Files.readAllLines(path).asScala.toSeq else Nil
    lines.find(_.startsWith("model name")).map(_.dropWhile(_ != ':').drop(1).trim)
  }

  private def report(families: Seq[Family]): String = {
    val machine = processor.fold("")(_ + ", ") + "JDK " + Runtime.version.feature.toString + ", " + Runtime.getRuntime.availableProcessors.toString + " processors."
    val judged = for (bar <- Bars; family <- families if family.name == bar.family) yield {
      val ratio = family(Ours).quantile(0.1) / family(bar.to).quantile(0.1)
      val verdict = if (ratio <= bar.most) "met" else "**missed**"
      f"| ${bar.family} | ${bar.to} | ${bar.most}%.2f | $ratio%.2f | $verdict |"
    }
    val tables = families.map { family =>
      val limit = family.cases.head
      val rows = family.cases.map { each =>
        val ratio = each.quantile(0.1) / limit.quantile(0.1)
        f"| ${each.peer} | ${each.quantile(0.5)}%.1f | ${each.quantile(0.1)}%.1f | $ratio%.2f | ${each.bytes}%.0f |"
      }
      s"### ${family.name}\n\nNanoseconds per ${family.unit}; ratios to *${limit.peer}*, by tenth percentiles.\n\n" +
        "| case | median | tenth percentile | ratio | bytes |\n| --- | ---: | ---: | ---: | ---: |\n" + rows.mkString("\n")
    }
    val verdicts = Seq("## Bars", "| family | compared with | at most | measured | |\n| --- | --- | ---: | ---: | --- |\n" + judged.mkString("\n"), "## Tables")
    val all = Seq(machine) ++ (if (judged.isEmpty) Nil else verdicts) ++ tables
    all.mkString("\n\n") + "\n"
  }
}
