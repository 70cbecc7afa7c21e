package misuse

import dotty.tools.dotc.interfaces.{Diagnostic, SimpleReporter}

/** Compiles each file alone, all in one virtual machine, and prints what the compiler has to say about it: the file, how bad it
  * is, the line, and the message on one line.
  */
object Compile {
  def main(arguments: Array[String]): Unit = {
    val (options, files) = arguments.splitAt(arguments.indexOf("--"))
    for (file <- files.drop(1)) {
      val reporter: SimpleReporter = (found: Diagnostic) =>
        // What has no place is a summary.
        found.position.ifPresent { at =>
          val level = if (found.level == Diagnostic.ERROR) "error" else "warning"
          println(List(file, level, (at.line + 1).toString, found.message.replaceAll("\\s+", " ")).mkString("\t"))
        }
      dotty.tools.dotc.Main.process(options :+ file, reporter, null): Unit
    }
  }
}
