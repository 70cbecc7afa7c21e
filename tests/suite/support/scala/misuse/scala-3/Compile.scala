package misuse

import dotty.tools.dotc.interfaces.{Diagnostic, SimpleReporter}

/** Compiles each file alone, all in one virtual machine, and prints the compiler's messages about it: the file, the
  * severity, the line, and the message on one line.
  */
object Compile {
  def main(arguments: Array[String]): Unit = {
    val (options, files) = arguments.splitAt(arguments.indexOf("--"))
    for (file <- files.drop(1)) {
      val reporter: SimpleReporter = (found: Diagnostic) =>
        // A message without a position is a summary.
        found.position.ifPresent { at =>
          val level = if (found.level == Diagnostic.ERROR) "error" else "warning"
          println(List(file, level, (at.line + 1).toString, found.message.replaceAll("\\s+", " ")).mkString("\t"))
        }
      dotty.tools.dotc.Main.process(options :+ file, reporter, null): Unit
    }
  }
}
