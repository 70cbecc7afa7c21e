package cases

import acme.files.fileServerTypes.{Mode, Path}
import acme.files.file_server
import acme.typesTypes.{File, Folder, Person, Problem, Timestamp}
import duologue.Bytes
import duologue.net.{Listener, connect}
import scala.annotation.tailrec
import scala.util.Using

/** Both sides of `file_server` over a socket: enums, and values of opaque types alone, in structs and in enums. */
object Files:
  private val holk = Person(1L, "holk")
  private val hello = File("hello", 5L, Some(holk), Bytes(0xca, 0xfe))
  private val root = Folder("/", Timestamp(1341532800L), Vector(hello), Vector(Folder("old", Timestamp(-1L), Vector(), Vector())))

  @tailrec
  def serve(idle: file_server.server.Idle): Unit = idle.recv() match
    case file_server.Idle.List(path, next) => serve(if path == "/" then next.listing(root) else next.failed(Problem.NotFound))
    case file_server.Idle.Open(path, mode, next) =>
      val problem = mode match
        case Mode.Read           => Problem.Busy(Timestamp(path.length.toLong), (2, 255))
        case Mode.Append(create) => if create then Problem.Denied(holk) else Problem.NotFound
      serve(next.failed(problem))
    case file_server.Idle.Leave => ()

  private def listed(listing: file_server.client.Listing): (Either[Problem, Folder], file_server.client.Idle) =
    listing.recv() match
      case file_server.Listing.Listing(folder, next) => (Right(folder), next)
      case file_server.Listing.Failed(problem, next) => (Left(problem), next)

  private def refused(opening: file_server.client.Opening): (Problem, file_server.client.Idle) =
    opening.recv() match
      case file_server.Opening.Failed(problem, next) => (problem, next)
      case other                                     => sys.error(other.toString)

  def main(arguments: Array[String]): Unit =
    Using.resource(Listener("tcp://127.0.0.1:0").serve(file_server.server)(serve(_)).start()) { listener =>
      val idle = connect(file_server.client, listener.address)
      val (folder, one) = listed(idle.list(Path("/")))
      val (missing, two) = listed(one.list(Path("/tmp")))
      val (busy, three) = refused(two.open(Path("/hello"), Mode.Read))
      val (denied, four) = refused(three.open(Path("/hello"), Mode.Append(create = true)))
      val (absent, last) = refused(four.open(Path("/hello"), Mode.Append(create = false)))
      last.leave()
      require(folder == Right(root) && missing == Left(Problem.NotFound))
      require(busy == Problem.Busy(Timestamp(6L), (2, 255)) && denied == Problem.Denied(holk) && absent == Problem.NotFound)
      val isRejected =
        try Problem.Busy(Timestamp(0L), (256, 0)) == absent
        catch case refused: IllegalArgumentException => refused.getMessage.contains("u8")
      require(isRejected)
    }
