package duologue.net

import duologue.Clock
import java.net.UnixDomainSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.SocketChannel
import java.nio.file.{Files, Path}
import java.util.concurrent.{CompletableFuture, TimeUnit}
import munit.FunSuite

/** What the suites have in common: files of the repository, sockets without the library, and threads. */
abstract class NetSuite extends FunSuite {

  /** A wait that takes longer than this has failed. */
  protected val Patience = 60L

  private lazy val folder: Path = freshFolder()
  private var folders = List.empty[Path]
  private var count = 0

  /** A folder that is deleted after all tests of the suite. */
  protected def freshFolder(): Path = synchronized {
    val made = Files.createTempDirectory("duologue-net")
    folders ::= made
    made
  }

  protected def delete(folder: Path): Unit = {
    val files = Files.walk(folder)
    try files.sorted(java.util.Comparator.reverseOrder[Path]).forEach(Files.deleteIfExists(_): Unit)
    finally files.close()
  }

  override def afterAll(): Unit = synchronized(folders).foreach(delete)

  protected def repository: Path = Path.of(System.getProperty("duologue.repository"))

  protected def lines(file: String): Vector[String] =
    Files.readString(repository.resolve("tests/wire").resolve(file)).linesIterator.filterNot(_.startsWith("#")).toVector

  /** An address that is not in use. */
  protected def freshAddress(): String = synchronized {
    count += 1
    "unix:" + folder.resolve(count.toString + ".sock").toString
  }

  protected def unhex(text: String): Array[Byte] =
    if (text == "-") Array.emptyByteArray else text.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  protected def hex(bytes: Array[Byte]): String =
    if (bytes.isEmpty) "-" else bytes.map(byte => f"$byte%02x").mkString

  /** What a thread of its own returns. */
  protected final class Spawned[T](body: => T) extends CompletableFuture[T] {
    private val thread = new Thread(() =>
      try complete(body): Unit
      catch { case thrown: Throwable => completeExceptionally(thrown): Unit }
    )
    thread.setDaemon(true)
    thread.start()

    /** Returns once the thread waits on an endpoint. */
    def waits(): Unit = eventually(thread.getStackTrace.exists { frame =>
      frame.getMethodName == "await" && frame.getClassName.startsWith("duologue.")
    })

    def interrupt(): Unit = thread.interrupt()
  }

  /** Runs `body` in a thread of its own. */
  protected def spawn[T](body: => T): Spawned[T] = new Spawned(body)

  protected def await[T](future: CompletableFuture[T]): T = future.get(Patience, TimeUnit.SECONDS)

  /** A socket without the library. */
  protected def raw(address: String): SocketChannel =
    SocketChannel.open(UnixDomainSocketAddress.of(address.stripPrefix("unix:")))

  protected def send(socket: SocketChannel, bytes: Array[Byte]): Unit = {
    val buffer = ByteBuffer.wrap(bytes)
    while (buffer.hasRemaining) socket.write(buffer): Unit
  }

  /** Up to `most` bytes; fewer only at the end of the connection. */
  protected def receive(socket: SocketChannel, most: Int): Array[Byte] = {
    val buffer = ByteBuffer.allocate(most)
    var isOpen = true
    while (buffer.hasRemaining && isOpen)
      isOpen =
        try socket.read(buffer) >= 0
        catch { case _: java.io.IOException => false }
    buffer.array.take(buffer.position())
  }

  /** Turns the clock of heartbeats and time limits forward, and returns once all were checked. */
  protected def turn(hours: Int): Unit = {
    Clock.turn(TimeUnit.HOURS.toNanos(hours.toLong))
    val checked = Reactor.nextBeat
    eventually {
      Reactor.wake()
      Reactor.beaten >= checked
    }
  }

  /** In seconds. */
  protected val Hour = 3600

  /** Evaluates the condition until it is true, and not once more: it may begin a session. */
  protected def eventually(condition: => Boolean): Unit = {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(Patience)
    var isTrue = condition
    while (!isTrue && System.nanoTime() < deadline) {
      Thread.sleep(1L)
      isTrue = condition
    }
    assert(isTrue)
  }
}
