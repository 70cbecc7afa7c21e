package misuse

import scala.reflect.internal.util.{CodeAction, Position}
import scala.tools.nsc.{CompilerCommand, Global, Settings}
import scala.tools.nsc.reporters.FilteringReporter

/** Compiles each file alone, all in one virtual machine, and prints the compiler's messages about it: the file, the
  * severity, the line, and the message on one line.
  */
object Compile {
  def main(arguments: Array[String]): Unit = {
    val (options, files) = arguments.splitAt(arguments.indexOf("--"))
    for (file <- files.drop(1)) {
      val command = new CompilerCommand(options.toList :+ file, (problem: String) => sys.error(problem))
      val global = new Global(command.settings, new Telling(file, command.settings))
      new global.Run().compile(command.files)
    }
  }

  private final class Telling(file: String, val settings: Settings) extends FilteringReporter {
    override def doReport(at: Position, message: String, severity: Severity, actions: List[CodeAction]): Unit =
      // A message without a position is a summary.
      if (at.isDefined) {
        val level = if (severity == ERROR) "error" else "warning"
        println(List(file, level, at.line.toString, message.replaceAll("\\s+", " ")).mkString("\t"))
      }
  }
}
