package cases

/** What the two programs of a case write: a line for each message that came, written by its receiver. After `holdsAfter` lines the
  * program is held: it prints `held`, and waits until a line is written to its input.
  */
final class Transcript(holdsAfter: Option[Int] = None) {
  private val lines = new java.util.concurrent.ConcurrentLinkedQueue[String]()

  /** The session has begun. */
  def begin(): Unit = hold()

  def line(text: String): Unit = {
    lines.add(text): Unit
    hold()
  }

  private def hold(): Unit = if (holdsAfter.exists(_ == lines.size)) {
    println("held")
    scala.io.StdIn.readLine(): Unit
  }

  /** What has been written so far. */
  def text: String = {
    val all = new StringBuilder
    lines.forEach(line => all.append(line).append('\n'): Unit)
    all.toString
  }
}

object Transcript {

  /** A message that the case does not expect. */
  def unexpected(message: Any): Nothing = throw new AssertionError("unexpected: " + message.toString)

  def quoted(text: String): String =
    "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + "\""

  def hex(bytes: Iterable[Byte]): String = bytes.map(byte => f"$byte%02x").mkString("<", "", ">")

  def decimals(number: Double): String = String.format(java.util.Locale.ROOT, "%.2f", Double.box(number))

  def unsigned(bits: Long): String = java.lang.Long.toUnsignedString(bits)

  def optional[T](value: Option[T])(write: T => String): String =
    value.fold("none")(some => "some(" + write(some) + ")")

  def list[T](values: Seq[T])(write: T => String): String = values.map(write).mkString("[", ", ", "]")
}
