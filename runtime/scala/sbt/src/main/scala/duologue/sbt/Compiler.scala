package duologue.sbt

import java.io.{ByteArrayOutputStream, File, OutputStream}
import java.net.{URL, URLClassLoader}
import java.nio.file.Path
import java.util.{List => JavaList}
import scala.collection.JavaConverters._
import scala.sys.process.{Process, ProcessLogger}

/** The protocol compiler. */
private[sbt] trait Compiler {

  /** Runs a command. Returns its exit code and the lines that it printed. */
  def run(arguments: Seq[String]): (Int, Seq[String])
}

/** A program. */
private[sbt] final class Native(executable: File) extends Compiler {
  override def run(arguments: Seq[String]): (Int, Seq[String]) = {
    val lines = List.newBuilder[String]
    val code = Process(executable.getPath +: arguments).!(ProcessLogger(line => lines.synchronized { lines += line; () }))
    (code, lines.result())
  }
}

/** Classes that sbt loads, apart from its own and from those of other plugins. */
private[sbt] final class InProcess(jars: Seq[File]) extends Compiler {
  override def run(arguments: Seq[String]): (Int, Seq[String]) = {
    val output = new ByteArrayOutputStream
    val types = Seq(classOf[JavaList[_]], classOf[Path], classOf[OutputStream], classOf[OutputStream])
    val run = InProcess.classes(jars).loadClass("duologue.compiler.Compiler").getMethod("run", types: _*)
    val here = new File("").getAbsoluteFile.toPath
    val code = run.invoke(null, arguments.asJava, here, output, output).asInstanceOf[Int]
    (code, output.toString("UTF-8").linesIterator.toList)
  }
}

private[sbt] object InProcess {

  /** The classes that were loaded last, so that a virtual machine that keeps running has them compiled after some time. */
  private var loaded: Option[(Seq[File], ClassLoader)] = None

  private def classes(jars: Seq[File]): ClassLoader = synchronized {
    loaded match {
      case Some((same, classes)) if same == jars => classes
      case _ =>
        val urls: Array[URL] = jars.map(_.toURI.toURL).toArray
        val classes = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader)
        loaded = Some((jars, classes))
        classes
    }
  }
}
