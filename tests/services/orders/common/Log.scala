package gateway

/** What operators read: on standard error. */
object Log {
  def apply(line: String): Unit = System.err.println(line)
}

/** What programs that start this one read: on standard output, line by line. */
object Say {
  def apply(line: String): Unit = {
    println(line)
    System.out.flush()
  }
}

/** Standard input, whose end shuts the gateway down. */
object Input {
  def awaitEnd(): Unit = while (System.in.read() >= 0) ()
}
