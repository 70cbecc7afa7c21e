package duologue

import java.nio.ByteBuffer
import java.util.Arrays
import scala.util.Random

/** What a remote state does with bytes that a peer sends, whatever they are. */
final class InboxSuite extends RuntimeSuite {

  /** One message of any length, with `bytes`. */
  private object State extends WireState("state", true, "message", 1L, -1L, 0L) {
    override def put(index: Int, payload: Any, number: Long, out: PayloadWriter): Unit = ()
    override def get(index: Int, in: PayloadReader): Any = in.bytes()
  }

  /** Delivers bytes in pieces, and records how large the buffer is into which they are read. */
  private final class Pieces(bytes: Array[Byte], random: Random, most: Int) extends Memory {
    private var at = 0
    var largest = 0
    def isOver: Boolean = at == bytes.length
    override def read(into: ByteBuffer): Int = {
      largest = math.max(largest, into.capacity)
      val count = math.min(math.min(1 + random.nextInt(most), bytes.length - at), into.remaining)
      into.put(bytes, at, count): Unit
      at += count
      count
    }
  }

  private def length(size: Long): Array[Byte] =
    Iterator.iterate(size)(_ >>> 7).takeWhile(_ > 0).toList match {
      case Nil     => Array[Byte](0)
      case septets => septets.zipWithIndex.map { case (part, i) => ((part & 0x7f) | (if (i + 1 < septets.size) 0x80 else 0)).toByte }.toArray
    }

  private def frame(payload: Array[Byte]): Array[Byte] = {
    val body = length(payload.length.toLong) ++ payload
    Array[Byte](1) ++ length(body.length.toLong) ++ body
  }

  test("a size that a peer announces takes no memory before the bytes arrive") {
    val sent = Array[Byte](1) ++ length(1L << 30) ++ new Array[Byte](100000)
    val peer = new Pieces(sent, new Random(1), 5000)
    val inbox = new Inbox(1L << 30, 1L << 31, true)
    while (!peer.isOver) {
      inbox.read(peer): Unit
      assertEquals(inbox.next(State), Inbox.NOTHING)
    }
    assert(peer.largest <= 4 * sent.length, peer.largest.toString)
  }

  test("messages arrive whole, however they are cut") {
    val random = new Random(2)
    for (most <- List(1, 7, 1000, 100000); _ <- 1 to 5) {
      val payloads = List.fill(5)(random.nextInt(3)).map {
        case 0 => random.nextInt(10)
        case 1 => random.nextInt(2000)
        case _ => random.nextInt(200000)
      }.map(size => random.nextBytes(size))
      val peer = new Pieces(payloads.toArray.flatMap(frame(_)), random, most)
      val inbox = new Inbox(1L << 30, 1L << 31, true)
      for (payload <- payloads) {
        while (inbox.next(State) == Inbox.NOTHING) inbox.read(peer): Unit
        inbox.take(State, 0) match {
          case arrived: Array[Byte] => assert(Arrays.equals(arrived, payload))
          case other                => fail(other.toString)
        }
      }
      assert(peer.isOver && !inbox.isCut)
    }
  }

  test("bytes that are no frames are malformed, and nothing else happens") {
    val random = new Random(3)
    for (_ <- 1 to 20000) {
      val sent = random.nextBytes(1 + random.nextInt(40))
      if (random.nextBoolean()) sent(0) = random.nextInt(3).toByte
      val peer = new Pieces(sent, random, 40)
      val inbox = new Inbox(1 << 16, 1 << 16, random.nextBoolean())
      try
        while (!peer.isOver) {
          inbox.read(peer): Unit
          var found = inbox.next(State)
          while (found != Inbox.NOTHING && found > Inbox.LEAVE) {
            if (found >= 0) inbox.take(State, found): Unit
            found = inbox.next(State)
          }
        }
      catch { case _: MalformedPayload => () }
      assert(peer.largest <= (1 << 17), peer.largest.toString)
    }
  }
}
