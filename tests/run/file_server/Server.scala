package cases.file_server

import acme.files.fileServerTypes.Mode
import acme.files.file_server
import acme.typesTypes.File
import acme.typesTypes.Folder
import acme.typesTypes.Person
import acme.typesTypes.Problem
import cases.Transcript
import cases.Transcript.{optional, quoted, unsigned}
import duologue.Bytes
import scala.annotation.tailrec

object Server {
  private val holk = Person(1L, "holk")
  private val hello = File("hello", 5L, Some(holk), Bytes(0xc0, 0xff, 0xee))
  private val notes = File("notes", 0L, None, Bytes())
  private val root = Folder("/", 1341532800L, Vector(hello, notes), Vector(Folder("old", -1L, Vector(), Vector())))

  @tailrec
  def run(endpoint: file_server.server.Idle, transcript: Transcript): Unit = endpoint.recv() match {
    case file_server.Idle.List(path, next) =>
      transcript.line("server <- list(" + quoted(path) + ")")
      run(if (path == "/") next.listing(root) else next.failed(Problem.Busy(1341532801L, (2, 3))), transcript)
    case file_server.Idle.Open(path, mode, next) =>
      transcript.line("server <- open(" + quoted(path) + ", " + written(mode) + ")")
      run(if (path == "/hello") read(next.opened(hello), transcript) else next.failed(Problem.Denied(holk)), transcript)
    case file_server.Idle.Leave => transcript.line("server <- leave")
  }

  @tailrec
  private def read(endpoint: file_server.server.Reading, transcript: Transcript): file_server.server.Idle =
    endpoint.recv() match {
      case file_server.Reading.Read(at, limit, next) =>
        val wanted = optional(limit)(_.toString)
        transcript.line("server <- read(" + unsigned(at) + ", " + wanted + ")")
        if (at >= 5) read(next.endOfFile(), transcript)
        else {
          val rest = Bytes.copyOf("hello".getBytes("UTF-8")).drop(at.toInt)
          read(next.data(limit.fold(rest)(limit => rest.take(limit.toInt))), transcript)
        }
      case file_server.Reading.Close(next) =>
        transcript.line("server <- close")
        next
    }

  private def written(mode: Mode): String = mode match {
    case Mode.Read           => "read"
    case Mode.Append(create) => "append(" + create.toString + ")"
  }
}
