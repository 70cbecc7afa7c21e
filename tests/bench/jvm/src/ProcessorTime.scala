package duologue.bench

import java.lang.management.ManagementFactory
import java.util.Collections
import org.openjdk.jmh.infra.{BenchmarkParams, IterationParams}
import org.openjdk.jmh.profile.InternalProfiler
import org.openjdk.jmh.results.{AggregationPolicy, IterationResult, Result, ScalarResult}

/** The time of processors that all threads of the virtual machine take for an operation, in nanoseconds. */
final class ProcessorTime extends InternalProfiler {
  private val system = ManagementFactory.getOperatingSystemMXBean match {
    case system: com.sun.management.OperatingSystemMXBean => system
    case _                                                => throw new IllegalStateException("the virtual machine does not report its time of processors")
  }
  private var before = 0L

  def getDescription(): String = "time of processors"

  def beforeIteration(benchmark: BenchmarkParams, iteration: IterationParams): Unit = before = system.getProcessCpuTime

  def afterIteration(benchmark: BenchmarkParams, iteration: IterationParams, result: IterationResult): java.util.Collection[? <: Result[?]] = {
    val each = (system.getProcessCpuTime - before).toDouble / result.getMetadata.getAllOps.toDouble
    Collections.singleton(new ScalarResult(ProcessorTime.Name, each, "ns/op", AggregationPolicy.AVG))
  }
}

object ProcessorTime {
  val Name = "processors"
}
