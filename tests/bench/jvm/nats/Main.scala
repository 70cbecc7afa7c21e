package duologue.bench.nats

import duologue.bench.{Bar, Family}
import io.nats.client.{Connection, Nats as Client, Options}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong
import scala.jdk.CollectionConverters.*

/** What sessions over a NATS server cost, compared with what the client library takes to move the same bytes. `docs/benchmarks-nats.md` describes
  * how it is measured.
  */
object Main {
  private val Families = Seq(
    new Family("withdrawal over NATS", classOf[Withdrawal], None, isOfProcessors = true),
    new Family("stream over NATS", classOf[Numbers], None, isOfProcessors = true)
  )

  private val Bars = Seq(
    Bar("withdrawal over NATS", "publish and subscribe of jnats", 1.15),
    Bar("withdrawal over NATS", "request of jnats", 1.0),
    Bar("stream over NATS", "publish of jnats, 64 KiB each", 1.0),
    Bar("stream over NATS", "publish of jnats, each number", 1.0)
  )

  /** The property that says where the server is, `host:port`. */
  private val Address = "duologue.bench.nats"

  def main(arguments: Array[String]): Unit = {
    val server = new Server
    try {
      System.setProperty(Address, server.address()): Unit
      duologue.bench.Main.measure(Families, Bars, arguments)
    } finally server.close()
    // The sessions have threads that do not end.
    System.exit(0)
  }

  def address: String = System.getProperty(Address)

  /** A connection of the library. */
  def connection(): Connection = Client.connect(Options.builder.server("nats://" + address).build)

  private val last = new AtomicLong

  /** A subject that this virtual machine has not used before. It is as long as the address of a side of a session. */
  def newSubject(): String = "duo.at." + "%065d".format(last.getAndIncrement())
}

/** A NATS server on a free port of loopback, with a folder of its own. */
private final class Server {
  private val folder = Files.createTempDirectory("duologue-bench-nats")
  private val process = new ProcessBuilder("nats-server", "--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", folder.toString)
    .redirectErrorStream(true)
    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
    .start()

  /** Waits until the server has written where it listens. */
  def address(): String = {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30L)
    var found = Option.empty[String]
    while (found.isEmpty) {
      if (System.nanoTime() > deadline) {
        close()
        throw new IllegalStateException("nats-server does not listen")
      }
      Thread.sleep(10L)
      found = files().map(path => Files.readString(path, UTF_8)).flatMap("nats://(127\\.0\\.0\\.1:\\d+)".r.findFirstMatchIn(_)).map(_.group(1)).headOption
    }
    found.get
  }

  private def files(): Seq[Path] = {
    val entries = Files.list(folder)
    try entries.iterator.asScala.toSeq
    finally entries.close()
  }

  def close(): Unit = {
    process.destroyForcibly().waitFor(): Unit
    files().foreach(Files.delete)
    Files.delete(folder)
  }
}
