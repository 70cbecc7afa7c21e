package cases.file_server

import acme.files.fileServerTypes.Mode
import acme.files.file_server
import acme.typesTypes.File
import acme.typesTypes.Folder
import acme.typesTypes.Person
import acme.typesTypes.Problem
import cases.Transcript
import cases.Transcript.{hex, list, optional, quoted, unexpected, unsigned}

object Client {
  def run(endpoint: file_server.client.Idle, transcript: Transcript): Unit = {
    val listed = listing(endpoint.list("/"), transcript)
    val refused = opening(listed.open("/secret", Mode.Append(create = false)), transcript)
      .fold(identity, reading => unexpected(reading))
    val first = opening(refused.open("/hello", Mode.Read), transcript)
      .fold(idle => unexpected(idle), identity)
    val second = piece(first.read(0L, Some(4L)), transcript)
    val third = piece(second.read(4L, None), transcript)
    val closed = piece(third.read(5L, Some(4L)), transcript).close()
    listing(closed.list("/tmp"), transcript).leave()
  }

  private def listing(endpoint: file_server.client.Listing, transcript: Transcript): file_server.client.Idle =
    endpoint.recv() match {
      case file_server.Listing.Listing(content, next) =>
        transcript.line("client <- listing(" + folder(content) + ")")
        next
      case file_server.Listing.Failed(why, next) =>
        transcript.line("client <- failed(" + problem(why) + ")")
        next
    }

  private def opening(
      endpoint: file_server.client.Opening,
      transcript: Transcript
  ): Either[file_server.client.Idle, file_server.client.Reading] = endpoint.recv() match {
    case file_server.Opening.Opened(opened, next) =>
      transcript.line("client <- opened(" + file(opened) + ")")
      Right(next)
    case file_server.Opening.Failed(why, next) =>
      transcript.line("client <- failed(" + problem(why) + ")")
      Left(next)
  }

  private def piece(endpoint: file_server.client.Piece, transcript: Transcript): file_server.client.Reading =
    endpoint.recv() match {
      case file_server.Piece.Data(bytes, next) =>
        transcript.line("client <- data(" + hex(bytes) + ")")
        next
      case file_server.Piece.EndOfFile(next) =>
        transcript.line("client <- end_of_file")
        next
    }

  private def person(value: Person): String = "{id: " + value.id.toString + ", name: " + quoted(value.name) + "}"

  private def file(value: File): String =
    "{name: " + quoted(value.name) + ", size: " + unsigned(value.size) + ", owner: " +
      optional(value.owner)(person) + ", checksum: " + hex(value.checksum) + "}"

  private def folder(value: Folder): String =
    "{name: " + quoted(value.name) + ", changed: " + value.changed.toString + ", files: " +
      list(value.files)(file) + ", folders: " + list(value.folders)(folder) + "}"

  private def problem(value: Problem): String = value match {
    case Problem.NotFound   => "not_found"
    case Problem.Denied(to) => "denied(" + person(to) + ")"
    case Problem.Busy(until, readers) =>
      "busy(" + until.toString + ", (" + readers._1.toString + ", " + readers._2.toString + "))"
  }
}
