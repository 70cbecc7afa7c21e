package duologue.interop.zio

import _root_.zio.{Exit, IO, Promise, Runtime, UIO, Unsafe, ZIO}
import _root_.zio.stream.ZStream
import duologue.{SessionClosed, abandon, trySend}
import protocols.{numbers, word_count}

/** Runs of messages as streams of ZIO. */
final class StreamSuite extends munit.FunSuite {

  private def run[E, A](effect: IO[E, A]): Exit[E, A] = Unsafe.unsafe { implicit unsafe => Runtime.default.unsafe.run(effect) }

  private def succeed(effect: IO[SessionClosed, Unit]): Unit =
    assertEquals(run(effect), Exit.succeed(()): Exit[SessionClosed, Unit])

  private def values(server: numbers.server.Stream): ZStream[Any, SessionClosed, Long] =
    receiveStream(server) { case numbers.Stream.Send(value, next) => (value, Some(next)) }

  @scala.annotation.tailrec
  private def filled(client: numbers.client.Stream): numbers.client.Stream = trySend(client)(_.send(0L)) match {
    case Some(next) => filled(next)
    case None       => client
  }

  /** What an effect fails with. */
  private def failure[E, A](effect: IO[E, A]): UIO[E] = effect.foldZIO(failure => ZIO.succeed(failure), other => ZIO.dieMessage(other.toString))

  /** Whether the peer has closed the session. */
  private def isClosed(client: numbers.client.Stream): Boolean =
    try {
      client.send(0L): Unit
      false
    } catch { case _: SessionClosed => true }

  test("a stream of values becomes a run of messages, and a run of messages a stream, whose end goes on")(succeed {
    type Word = (String, Long)
    def count(counting: word_count.server.Counting): IO[SessionClosed, Unit] = {
      val messages = receiveStream(counting) {
        case word_count.Counting.Count(word, n, next) => (Right((word, n)): Either[word_count.server.Totals, Word], Some(next))
        case word_count.Counting.Done(totals)         => (Left(totals), None)
      }
      messages.runFold((Map.empty[String, Long], Option.empty[word_count.server.Totals])) {
        case ((totals, _), Left(end))        => (totals, Some(end))
        case ((totals, end), Right((word, n))) => (totals.updated(word, totals.getOrElse(word, 0L) + n), end)
      }.flatMap { case (totals, end) =>
        ZStream.fromIterable(totals.toList.sorted)
          .run(sendSink(end.get)((to, total: Word) => to.total(total._1, total._2)))
          .flatMap(to => sendNow(to.end()))
      }
    }
    ZIO.scoped[Any](service(word_count.init())(count).flatMap { client =>
      val words = ZStream.fromIterable(List.fill(5000)(List("the", "cat", "and", "the", "hat")).flatten)
      for {
        told <- words.run(sendSink(client)((to, word: String) => to.count(word, 1L)))
        totals <- sendNow(told.done())
        read <- receiveStream(totals) {
          case word_count.Totals.Total(word, n, next) => (Some((word, n)), Some(next))
          case word_count.Totals.End()                => (None, None)
        }.runCollect
      } yield assertEquals(read.toList.flatten, List(("and", 5000L), ("cat", 5000L), ("hat", 5000L), ("the", 10000L)))
    })
  })

  test("messages that have arrived together are one chunk")(succeed {
    val (server, client) = numbers.init()
    val last = (1 to 200).foldLeft(client)((client, value) => client.send(value.toLong))
    values(server).chunks.runHead.map { first =>
      assertEquals(first.map(_.toList), Some((1 to 200).map(_.toLong).toList))
      assert(isClosed(last))
    }
  })

  test("a stream fails when the peer closes the session, after everything that was sent")(succeed {
    val (server, client) = numbers.init()
    abandon(client.send(1L).send(2L))
    for {
      closed <- failure(values(server).runDrain)
      again = numbers.init()
      _ = abandon(again._2.send(3L).send(4L))
      read <- values(again._1).catchAll(_ => ZStream.empty).runCollect
    } yield {
      assert(closed.isByPeer)
      assertEquals(read.toList, List(3L, 4L))
    }
  })

  test("a stream that is not read to its end, and a stream that fails while it is sent, close their session")(succeed {
    val (server, client) = numbers.init()
    val (reader, writer) = numbers.init()
    for {
      head <- values(server).runHead.zipParLeft(ZIO.succeed(abandon(client.send(7L))).delay(_root_.zio.Duration.fromMillis(5)))
      failed <- failure((ZStream(1L, 2L) ++ ZStream.fail("no")).run(sendSink(writer)((to, value: Long) => to.send(value)).mapError(_.toString)))
      closed <- failure(reader.receive.flatMap(_.next.receive).flatMap(_.next.receive))
      (waiting, full) = { val ends = numbers.init(); (ends._1, filled(ends._2)) }
      begun <- Promise.make[Nothing, Unit]
      sending <- ZStream.fromZIO(begun.succeed(()).as(1L)).run(sendSink(full)((to, value: Long) => to.send(value))).fork
      _ <- begun.await
      _ <- sending.interrupt
      left <- failure(values(waiting).runDrain)
    } yield {
      assertEquals((head, failed), (Some(7L), "no"))
      assert(closed.isByPeer && left.isByPeer)
    }
  })
}
