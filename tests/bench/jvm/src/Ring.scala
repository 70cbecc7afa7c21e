package duologue.bench

import java.util.concurrent.TimeUnit
import org.openjdk.jmh.annotations.*

/** Virtual threads in a ring, each of which sends a value to its neighbour and then takes one. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class Ring {
  @Param(Array("ArrayBlockingQueue", "duologue", "LinkedTransferQueue", "jox channel"))
  var peer: String = scala.compiletime.uninitialized

  @Param(Array("100", "1000"))
  var threads: Int = scala.compiletime.uninitialized

  private var ring: Origin = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = ring = ThreadRing.of(peer, threads, threads)

  @Benchmark
  @OperationsPerInvocation(Ring.Count)
  def message(): Long = ring.run(Ring.Count / threads)
}

object Ring {
  final val Count = 50000
}
