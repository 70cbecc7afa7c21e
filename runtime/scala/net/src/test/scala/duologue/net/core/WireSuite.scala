package duologue.net

import duologue.{MalformedPayload, PayloadReader, PayloadRefused, PayloadWriter}
import protocols.payloads

/** The encoding of payloads: the bytes that all languages share, and what a writer refuses. */
final class WireSuite extends NetSuite {

  private val state = payloads.client.$protocol.state(0)

  /** The names of the messages, in order. */
  private lazy val names: Vector[String] = {
    val Message = """\s+(\w+)(\(.*\))? -> .*""".r
    lines("payloads.proto").collect { case Message(name, _) => name }
  }

  private def decode(name: String, bytes: Array[Byte]): (AnyRef, Long) = {
    val in = new PayloadReader(bytes)
    val payload = state.get(names.indexOf(name), in)
    in.finish()
    (payload.asInstanceOf[AnyRef], in.number)
  }

  test("what a reader accepts and rejects, and what a writer makes of what was read") {
    val cases = lines("payloads.txt").filter(_.nonEmpty).map(_.split(' '))
    assert(cases.length > 80)
    cases.foreach { words =>
      val (name, text, verdict) = (words(0), words(1), words(2))
      val what = name + " " + text
      val read =
        try Some(decode(name, unhex(text)))
        catch { case _: MalformedPayload => None }
      assertEquals(read.nonEmpty, verdict == "yes", what)
      read.foreach { case (payload, number) =>
        val out = new PayloadWriter
        state.put(names.indexOf(name), payload, number, out)
        assertEquals(hex(out.toByteArray), text, what)
      }
    }
  }

  test("lists are nested at most 256 deep") {
    def nested(levels: Int): Array[Byte] = Array.fill(levels)(Array[Byte](7, 1)).flatten ++ Array[Byte](7, 0)
    decode("tree", nested(255)): Unit
    intercept[MalformedPayload](decode("tree", nested(256))): Unit
    intercept[MalformedPayload](decode("tree", nested(100000))): Unit
    val deep = (1 to 300).foldLeft(protocols.payloadsTypes.Tree(1, Vector()))((tree, _) => protocols.payloadsTypes.Tree(1, Vector(tree)))
    intercept[PayloadRefused](protocols.payloadsTypes.$Tree.put(new PayloadWriter, deep)): Unit
  }

  test("a list of items that take no bytes has at most 65,535") {
    decode("empties", unhex("ffff03")): Unit
    intercept[MalformedPayload](decode("empties", unhex("808004"))): Unit
    val out = new PayloadWriter
    intercept[PayloadRefused](out.enter(65536, 0L)): Unit
  }

  test("text that UTF-8 cannot represent is refused") {
    val refused = intercept[PayloadRefused](new PayloadWriter().str("a\ud800b"))
    assert(refused.getMessage.contains("surrogate"))
  }

  test("texts of every length and width come back") {
    for (length <- List(0, 1, 127, 128, 16383, 16384, 70000); unit <- List("a", "\u00e9", "\u20ac", "\ud83d\ude00")) {
      val text = unit * length
      val out = new PayloadWriter
      out.str(text)
      val in = new PayloadReader(out.toByteArray)
      assertEquals(in.str(), text)
      in.finish()
    }
  }
}
