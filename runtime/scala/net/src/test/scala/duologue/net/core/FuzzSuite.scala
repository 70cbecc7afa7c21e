package duologue.net

import duologue.{Heap, MalformedPayload, PayloadReader, PayloadWriter, SessionClosed, Why}
import protocols.payloads
import scala.annotation.tailrec
import scala.util.Random

/** Bytes of peers that are almost right: hellos, answers, payloads and frames that were changed in a few places. Nothing is thrown but
  * what is documented, and memory is bounded by what has arrived.
  */
final class FuzzSuite extends NetSuite {

  /** How often each is changed. */
  private val Rounds = 20000

  /** Values at which something changes: the ends of counts, of flags and of sizes. */
  private val Edges = Array[Byte](0, 1, 2, 3, 4, 8, 0x7f, -0x80, -1)

  /** The bytes with some changed, removed, repeated or added. */
  private def changed(bytes: Array[Byte], random: Random): Array[Byte] =
    (0 to random.nextInt(3)).foldLeft(bytes) { (bytes, _) =>
      val at = random.nextInt(bytes.length + 1)
      val byte = if (random.nextBoolean()) Edges(random.nextInt(Edges.length)) else random.nextInt().toByte
      random.nextInt(5) match {
        case 0 => bytes.take(at)
        case 1 => bytes.take(at) ++ bytes.drop(at + 1)
        case 2 => (bytes.take(at) :+ byte) ++ bytes.drop(at)
        case 3 => bytes ++ bytes.drop(at).take(random.nextInt(1 << random.nextInt(10)))
        case _ => if (at < bytes.length) bytes.updated(at, byte) else bytes
      }
    }

  /** Reads changed bytes, `Rounds` times, and checks what was read. Reading may take `most` bytes of memory, by the number of those that
    * are there. Returns how often they were accepted.
    */
  private def fuzz[T](seed: Long, seeds: Vector[Array[Byte]], most: Int => Long)(read: Array[Byte] => T)(check: (T, Array[Byte]) => Unit): Int = {
    assert(seeds.nonEmpty)
    val random = new Random(seed)
    var accepted = 0
    for (round <- 1 to Rounds) {
      val bytes = changed(seeds(random.nextInt(seeds.length)), random)
      val before = Heap.total
      val result =
        try Some(read(bytes))
        catch { case _: MalformedPayload => None }
      val allocated = Heap.total - before
      result.foreach { value =>
        accepted += 1
        check(value, bytes)
      }
      // Classes are loaded in the first rounds.
      if (round > Rounds / 10) assert(allocated <= most(bytes.length), allocated.toString + " bytes for " + hex(bytes))
    }
    assert(accepted < Rounds)
    accepted
  }

  private def parts(kind: String, at: Int): Vector[Array[Byte]] =
    lines("streams.txt").filter(_.startsWith(kind + " ")).map(line => unhex(line.split(' ')(at)))

  /** The head and the rest, as a connection has them when it looks at them. */
  private def cut(bytes: Array[Byte]): (Array[Byte], Array[Byte]) =
    if (bytes.length < Handshake.Head) throw new MalformedPayload("not the whole head") else bytes.splitAt(Handshake.Head)

  test("changed hellos are read as they are, or refused with a verdict") {
    val magic = "duologue".getBytes(java.nio.charset.StandardCharsets.US_ASCII)
    val accepted = fuzz(1L, parts("hello", 2), 100L * _ + 10000L) { bytes =>
      val (head, rest) = cut(bytes)
      Handshake.helloHead(head) match {
        case Some(Right(length)) if length <= rest.length => Some(Handshake.hello(head, rest.take(length)))
        case Some(Right(length)) =>
          assert(length >= 28 && length <= 4096)
          None
        case Some(Left(verdict)) =>
          assert(verdict == Verdict.UnknownVersion || verdict == Verdict.Malformed)
          None
        case None =>
          assert(!head.startsWith(magic))
          None
      }
    } { (hello, bytes) =>
      hello.foreach { hello =>
        val encoded = hello.encode
        assertEquals(hex(encoded), hex(bytes.take(encoded.length)))
      }
    }
    assert(accepted > Rounds / 10)
  }

  test("changed answers are read as they are, or are malformed") {
    val accepted = fuzz(2L, parts("answer", 1), 100L * _ + 10000L) { bytes =>
      val (head, rest) = cut(bytes)
      val length = Handshake.answerHead(head)
      if (length <= rest.length) Some(Handshake.answer(head, rest.take(length))) else None
    } { (answer, bytes) =>
      answer.foreach { answer =>
        val encoded = answer.encode
        // A refusal may be of a newer version of the format.
        val own = bytes.take(encoded.length).updated(8, encoded(8))
        assertEquals(hex(encoded), hex(own))
      }
    }
    assert(accepted > Rounds / 10)
  }

  test("changed payloads of generated code are values or malformed, and take memory for what is there") {
    val state = payloads.client.$protocol.state(0)
    val Message = """\s+(\w+)(\(.*\))? -> .*""".r
    val names = lines("payloads.proto").collect { case Message(name, _) => name }
    val good = lines("payloads.txt").filter(_.nonEmpty).map(_.split(' ')).filter(_(2) == "yes")
    for (((name, all), seed) <- good.groupBy(_(0)).toVector.sortBy(_._1).zipWithIndex) {
      // A list of structs without fields has up to 65,535 items in three bytes.
      val least = if (name == "empties") 2L << 20 else 10000L
      fuzz(seed.toLong, all.map(words => unhex(words(1))), 500L * _ + least) { bytes =>
        val in = new PayloadReader(bytes)
        val payload = state.get(names.indexOf(name), in)
        in.finish()
        (payload, in.number)
      } { case ((payload, number), bytes) =>
        val out = new PayloadWriter
        state.put(names.indexOf(name), payload, number, out)
        assertEquals(hex(out.toByteArray), hex(bytes), name)
      }: Unit
    }
  }

  /** Receives until the end: the last part of each message is the next endpoint. */
  @tailrec
  private def read(all: payloads.server.All): Unit = all.recv() match {
    case payloads.All.Over => ()
    case message: Product =>
      message.productElement(message.productArity - 1) match {
        case next: payloads.server.All => read(next)
        case other                     => fail(other.toString)
      }
  }

  test("a session with changed frames ends, with a reason or as it should") {
    val (client, around) = begun(payloads.client)
    client.bool(true).u64(7L).str("text").list(Vector(1, 2, 3)).options(Vector(None, Some(Some("a")))).over()
    val bytes = around.wire.sent()
    val random = new Random(3L)
    val reasons = (1 to Rounds).map { _ =>
      val (server, around) = begun(payloads.server)
      around.wire.arrive(changed(bytes, random))
      around.wire.end()
      try {
        read(server)
        None
      } catch { case closed: SessionClosed => Some(closed.why) }
    }
    // All of these happen.
    for (expected <- List(None, Some(Why.Lost), Some(Why.Broken))) assert(reasons.contains(expected), reasons.toSet.toString)
  }
}
