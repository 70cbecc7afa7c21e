package duologue.interop.cats

import _root_.cats.effect.IO
import _root_.cats.effect.unsafe.IORuntime
import _root_.cats.syntax.all._
import _root_.fs2.Stream
import duologue.{SessionClosed, abandon, trySend}
import protocols.{numbers, word_count}

/** Runs of messages as streams of fs2. */
final class StreamSuite extends munit.FunSuite {

  private implicit val runtime: IORuntime = IORuntime.global

  private def succeed(effect: IO[Unit]): Unit = effect.unsafeRunSync()

  private def values(server: numbers.server.Stream): Stream[IO, Long] =
    receiveStream[IO](server) { case numbers.Stream.Send(value, next) => (value, Some(next)) }

  /** What closed the session. */
  private def closed[A](effect: IO[A]): IO[SessionClosed] =
    effect.attemptNarrow[SessionClosed].map(_.fold(closed => closed, other => fail(other.toString)))

  @scala.annotation.tailrec
  private def filled(client: numbers.client.Stream): numbers.client.Stream = trySend(client)(_.send(0L)) match {
    case Some(next) => filled(next)
    case None       => client
  }

  test("a stream of values becomes a run of messages, and a run of messages a stream, whose end goes on")(succeed {
    type Word = (String, Long)
    def count(counting: word_count.server.Counting): IO[Unit] = {
      val messages = receiveStream[IO](counting) {
        case word_count.Counting.Count(word, n, next) => (Right((word, n)): Either[word_count.server.Totals, Word], Some(next))
        case word_count.Counting.Done(totals)         => (Left(totals), None)
      }
      messages.compile.fold((Map.empty[String, Long], Option.empty[word_count.server.Totals])) {
        case ((totals, _), Left(end))          => (totals, Some(end))
        case ((totals, end), Right((word, n))) => (totals.updated(word, totals.getOrElse(word, 0L) + n), end)
      }.flatMap { case (totals, end) =>
        Stream.emits(totals.toList.sorted)
          .through(sendPipe[IO](end.get)((to, total: Word) => to.total(total._1, total._2)))
          .compile.lastOrError
          .flatMap(to => IO(to.end()))
      }
    }
    service[IO](word_count.init())(count).use { client =>
      val words = Stream.emits(List.fill(5000)(List("the", "cat", "and", "the", "hat")).flatten)
      for {
        told <- words.through(sendPipe[IO](client)((to, word: String) => to.count(word, 1L))).compile.lastOrError
        totals <- IO(told.done())
        read <- receiveStream[IO](totals) {
          case word_count.Totals.Total(word, n, next) => (Some((word, n)), Some(next))
          case word_count.Totals.End()                => (None, None)
        }.compile.toList
      } yield assertEquals(read.flatten, List(("and", 5000L), ("cat", 5000L), ("hat", 5000L), ("the", 10000L)))
    }
  })

  test("messages that have arrived together are one chunk")(succeed {
    val (server, client) = numbers.init()
    val last = (1 to 200).foldLeft(client)((client, value) => client.send(value.toLong))
    for {
      first <- values(server).chunks.head.compile.lastOrError
      refused <- closed(IO(last.send(0L)))
    } yield {
      assertEquals(first.toList, (1 to 200).map(_.toLong).toList)
      assert(refused.isByPeer)
    }
  })

  test("a stream fails when the peer closes the session, after everything that was sent")(succeed {
    val (server, client) = numbers.init()
    abandon(client.send(1L).send(2L))
    for {
      failure <- closed(values(server).compile.drain)
      again = numbers.init()
      _ = abandon(again._2.send(3L).send(4L))
      read <- values(again._1).handleErrorWith { case _: SessionClosed => Stream.empty; case other => Stream.raiseError[IO](other) }.compile.toList
    } yield {
      assert(failure.isByPeer)
      assertEquals(read, List(3L, 4L))
    }
  })

  test("a stream that fails while it is sent, or is canceled, closes its session")(succeed {
    val (reader, writer) = numbers.init()
    val (waiting, client) = numbers.init()
    val full = filled(client)
    for {
      failed <- (Stream(1L, 2L) ++ Stream.raiseError[IO](new ArithmeticException("no")))
        .through(sendPipe[IO](writer)((to, value: Long) => to.send(value))).compile.drain.attempt
      refused <- closed(reader.receive[IO].flatMap(_.next.receive[IO]).flatMap(_.next.receive[IO]))
      begun <- IO.deferred[Unit]
      sending <- Stream.eval(begun.complete(()).as(1L)).through(sendPipe[IO](full)((to, value: Long) => to.send(value))).compile.drain.start
      _ <- begun.get
      _ <- sending.cancel
      left <- closed(values(waiting).compile.drain)
    } yield {
      assert(failed.left.exists(_.getMessage == "no"))
      assert(refused.isByPeer && left.isByPeer)
    }
  })
}
