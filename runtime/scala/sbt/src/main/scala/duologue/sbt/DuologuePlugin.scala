package duologue.sbt

import java.io.File
import java.util.Optional
import sbt._
import sbt.Keys._
import sbt.internal.io.Source
import sbt.plugins.JvmPlugin
import xsbti.{CompileFailed, Position, Problem, Severity}

/** Generates endpoints for a project's protocols before the project is compiled, and again whenever a protocol or the protocol
  * compiler has changed. Errors in a protocol are reported as compilation problems, with file, line and column, so that editors
  * show them.
  */
object DuologuePlugin extends AutoPlugin {

  override def requires: Plugins = JvmPlugin

  object autoImport {
    val duologueExecutable =
      settingKey[Option[String]]("A native protocol compiler: a path, or a name to look up in PATH. None runs the compiler in sbt itself.")
    val duologueCompiler = settingKey[String]("The version of the compiler that runs in sbt itself.")
    val duologueSource = settingKey[File]("The directory that contains the protocols.")
    val duologueOptions = settingKey[Seq[String]]("Additional options for `duologue gen`, such as -I DIR or -D all.")
    val duologueRuntime = settingKey[Option[String]]("The version of the runtime to depend on; None if the build provides the runtime itself.")
    val duologueRemote = settingKey[Boolean]("Whether sessions can leave the process: `gen --remote`, and a dependency on `duologue-net`.")
    val duologueGenerate = taskKey[Seq[File]]("Generates endpoints for the protocols.")
  }
  import autoImport._

  override lazy val projectSettings: Seq[Setting[_]] = Seq(
    duologueExecutable := None,
    duologueCompiler := Version.value,
    ivyConfigurations += Tool,
    duologueSource := (Compile / sourceDirectory).value / "protocols",
    duologueOptions := Nil,
    duologueRuntime := Some(Version.value),
    duologueRemote := false,
    libraryDependencies ++= {
      val modules = if (duologueRemote.value) Seq("duologue-runtime", "duologue-net") else Seq("duologue-runtime")
      duologueRuntime.value.toSeq.flatMap(version => modules.map("io.github.duologue" %% _ % version))
    },
    libraryDependencies ++= {
      val compiler = "io.github.duologue" % "duologue-compiler" % duologueCompiler.value % Tool
      if (duologueExecutable.value.isEmpty) Seq(compiler) else Nil
    },
    duologueGenerate := {
      val log = streams.value.log
      val source = duologueSource.value
      val protocols = (source ** files).get.toSet
      val jars = update.value.select(configurationFilter(Tool.name))
      val (compiler, parts) = duologueExecutable.value match {
        case Some(name) =>
          val executable = find(name)
          (new Native(executable), Seq(executable))
        case None => (new InProcess(jars), jars)
      }
      val out = (Compile / sourceManaged).value / "duologue"
      val options = duologueOptions.value ++ (if (duologueRemote.value) Seq("--remote") else Nil)
      val cache = streams.value.cacheDirectory / ("duologue-" + (options ++ parts.map(_.getPath)).hashCode.toHexString)
      if (protocols.isEmpty) log.warn(s"there is no protocol file in $source (set by duologueSource)")
      val generate = FileFunction.cached(cache, FilesInfo.hash, FilesInfo.hash) { _ =>
        log.info(s"Generating endpoints for the protocols in $source")
        run(compiler, source, out, options, log)
        (out ** "*.scala").get.toSet
      }
      if (protocols.isEmpty) Nil else generate(protocols ++ parts).toSeq.sorted
    },
    Compile / sourceGenerators += duologueGenerate.taskValue,
    watchSources += new Source(duologueSource.value, files, HiddenFileFilter)
  )

  /** What the plugin itself needs: nothing that the program depends on. */
  private lazy val Tool = config("duologue-tool").hide

  /** The names of protocol files. */
  private def files: FileFilter = GlobFilter("*.duo") || GlobFilter("*.proto")

  private def find(executable: String): File = {
    val names = Seq(executable, executable + ".exe")
    val folders = sys.env.getOrElse("PATH", "").split(File.pathSeparator).toSeq
    val inPath = if (executable.contains("/")) Nil else folders.flatMap(folder => names.map(new File(folder, _)))
    (inPath ++ names.map(new File(_).getAbsoluteFile)).find(_.isFile).getOrElse {
      throw new MessageOnlyException(s"`$executable` was not found: install it, or set duologueExecutable to None")
    }
  }

  private def run(compiler: Compiler, source: File, out: File, options: Seq[String], log: Logger): Unit = {
    val words = Seq("gen", source.getPath, "--scala", out.getPath, "--clean", "--color", "never") ++
      Seq("--format", "github", "--report", "github=none") ++ options
    val (code, lines) = compiler.run(words)
    val problems = lines.flatMap(Finding.read)
    problems.foreach(tell(_, log))
    if (code != 0) {
      if (problems.isEmpty) throw new MessageOnlyException(lines.mkString("\n"))
      throw new Refused(words.toArray, problems.toArray)
    }
  }

  /** Logs a problem as sbt logs the problems of a compilation. */
  private def tell(problem: Problem, log: Logger): Unit = {
    val at = problem.position
    val level = if (problem.severity == Severity.Error) Level.Error else Level.Warn
    val text = problem.message.split('\n')
    log.log(level, s"${at.sourcePath.get}:${at.line.get}:${at.pointer.get + 1}: ${text.head}")
    log.log(level, at.lineContent)
    log.log(level, at.pointerSpace.get + "^")
    text.tail.foreach(line => log.log(level, line))
  }

  private final class Refused(override val arguments: Array[String], override val problems: Array[Problem]) extends CompileFailed {
    override def toString: String = "the protocols have errors"
    override def getMessage: String = toString
    override def fillInStackTrace(): Throwable = this
  }

  /** Reads one line of `--format github`, which contains all notes and help texts of a finding, as an sbt problem. */
  private object Finding {
    private val Line = """::(error|warning) file=([^,]+),line=(\d+),endLine=\d+,col=(\d+),endColumn=\d+,title=([\w-]+)::(.*)""".r

    def read(line: String): Option[Problem] = line match {
      case Line(level, path, row, column, rule, text) =>
        val (said, more) = plain(text).span(_ != '\n')
        Some(problem(located(plain(path)), row.toInt, column.toInt, level, s"$said [$rule]$more"))
      case _ => None
    }

    /** Paths in the format are relative to the root of the repository, which is this folder or one above it. */
    private def located(path: String): File = {
      val here = new File(path).getAbsoluteFile
      val above = Iterator.iterate(new File("").getAbsoluteFile)(_.getParentFile).takeWhile(_ != null)
      (Iterator(here) ++ above.map(new File(_, path))).find(_.isFile).getOrElse(here)
    }

    /** Decodes the escapes of the format. */
    private def plain(text: String): String =
      Seq("%0D" -> "\r", "%0A" -> "\n", "%3A" -> ":", "%2C" -> ",", "%25" -> "%").foldLeft(text) { case (rest, (escape, character)) =>
        rest.replace(escape, character)
      }

    private def problem(file: File, row: Int, column: Int, level: String, text: String): Problem = {
      val lines = if (file.isFile) IO.readLines(file) else Nil
      new Problem {
        override def category = "duologue"
        override def severity: Severity = if (level == "error") Severity.Error else Severity.Warn
        override def message: String = text
        override def position: Position = new Position {
          override def line: Optional[Integer] = Optional.of(Int.box(row))
          override def lineContent: String = lines.lift(row - 1).getOrElse("")
          override def offset: Optional[Integer] = Optional.of(Int.box(lines.take(row - 1).map(_.length + 1).sum + column - 1))
          override def pointer: Optional[Integer] = Optional.of(Int.box(column - 1))
          override def pointerSpace: Optional[String] = Optional.of(lineContent.take(column - 1).map(c => if (c == '\t') c else ' '))
          override def sourcePath: Optional[String] = Optional.of(file.getPath)
          override def sourceFile: Optional[File] = Optional.of(file)
        }
      }
    }
  }
}
