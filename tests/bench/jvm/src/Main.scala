package duologue.bench

import java.nio.file.{Files, Path}
import org.openjdk.jmh.annotations.Param
import org.openjdk.jmh.runner.Runner
import org.openjdk.jmh.runner.options.{OptionsBuilder, TimeValue, VerboseMode}
import org.openjdk.jmh.profile.GCProfiler
import scala.jdk.CollectionConverters.*

/** One case of a family, and what the rounds measured. */
final class Case(val family: Family, val peer: String) {
  private var scores = Vector.empty[Double]
  var bytes: Double = 0.0

  def measure(quick: Boolean): Unit = {
    val base = new OptionsBuilder()
      .include("^" + family.benchmark.getName.replace(".", "\\.") + "\\.")
      .param("peer", peer)
      .verbosity(VerboseMode.SILENT)
      .shouldFailOnError(true)
    family.threads.foreach(threads => base.param("threads", threads.toString))
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

/** Cases that do the same; ratios are relative to the first. */
final class Family(val name: String, val benchmark: Class[?], val threads: Option[Int]) {
  val cases: Seq[Case] =
    benchmark.getDeclaredField("peer").getAnnotation(classOf[Param]).value.toSeq.map(peer => new Case(this, peer))

  def apply(peer: String): Case =
    cases.find(_.peer == peer).getOrElse(throw new NoSuchElementException("no case " + peer + " in " + name))
}

/** A ratio that must hold. */
final case class Bar(family: String, to: String, most: Double)

object Main {
  private val Ours = "duologue"

  private val Families = Seq(
    new Family("ping-pong", classOf[PingPong], None),
    new Family("stream", classOf[Stream], None),
    new Family("ring of 100 virtual threads", classOf[Ring], Some(100)),
    new Family("ring of 1000 virtual threads", classOf[Ring], Some(1000)),
    new Family("thread-ring of 503, 1 token", classOf[ThreadRing], None),
    new Family("big bang of 100 actors", classOf[BigBang], None),
    new Family("bank session", classOf[Bank], None),
    new Family("word count", classOf[WordCount], None),
    new Family("word count of 100 MB", classOf[Words], None),
    new Family("withdrawal over a Unix socket", classOf[Withdrawal], None)
  )

  private val Units = Map(
    "ping-pong" -> "round trip",
    "bank session" -> "session",
    "word count" -> "word",
    "word count of 100 MB" -> "text",
    "withdrawal over a Unix socket" -> "withdrawal"
  ).withDefaultValue("message")

  private val Bars = Seq(
    Bar("ping-pong", "raw line (busy spin)", 1.3),
    Bar("stream", "JCTools SPSC (busy spin)", 1.2),
    Bar("stream", "ArrayBlockingQueue", 0.3),
    Bar("stream", "LinkedTransferQueue", 0.3),
    Bar("stream", "SynchronousQueue", 0.3),
    Bar("stream", "jox channel", 0.3),
    Bar("ring of 100 virtual threads", "ArrayBlockingQueue", 0.6),
    Bar("ring of 1000 virtual threads", "ArrayBlockingQueue", 0.6),
    Bar("bank session", "jox channel", 0.5),
    Bar("word count of 100 MB", "ZIO.foreachPar", 1.1),
    Bar("word count of 100 MB", "ZIO Queue", 1.1),
    Bar("withdrawal over a Unix socket", "SocketChannel", 1.3)
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
    for (bar <- Bars) Families.find(_.name == bar.family).get.apply(bar.to): Unit

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
      s"### ${family.name}\n\nNanoseconds per ${Units(family.name)}; ratios to *${limit.peer}*, by tenth percentiles.\n\n" +
        "| case | median | tenth percentile | ratio | bytes |\n| --- | ---: | ---: | ---: | ---: |\n" + rows.mkString("\n")
    }
    val verdicts = Seq("## Bars", "| family | compared with | at most | measured | |\n| --- | --- | ---: | ---: | --- |\n" + judged.mkString("\n"), "## Tables")
    val all = Seq(machine) ++ (if (judged.isEmpty) Nil else verdicts) ++ tables
    all.mkString("\n\n") + "\n"
  }
}
