package duologue.interop.zio

import _root_.zio.{Exit, IO, Promise, Runtime, UIO, Unsafe, ZIO}
import _root_.zio.stream.ZStream
import duologue.{PortSet, Select, SessionClosed, SharedSender, abandon, trySend}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import protocols.{bank, numbers, word_count}

/** Streams, selects, port sets and shared senders, in fibers. */
final class ManySuite extends munit.FunSuite {

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

  test("a select takes the endpoint that is ready, and reports one that is closed by either side")(succeed {
    val (counter, counting) = numbers.init()
    val (teller, customer) = bank.init()
    def select = Select(counter.on(_.value.toString), teller.on(_.username))
    for {
      waiting <- select.receive.fork
      _ <- ZIO.yieldNow.repeatN(10)
      _ = customer.login("holk", "1234")
      first <- waiting.join
      more = counting.send(7L)
      second <- Select(counter.on(message => ZIO.succeed(message))).receive.flatten
      closing <- Select(second.next.on(_.value)).receive.either.fork
      _ <- ZIO.yieldNow.repeatN(10)
      _ = abandon(more)
      closed <- closing.join
      own = numbers.init()
      leaving <- Select(own._1.on(_.value)).receive.either.fork
      _ <- ZIO.yieldNow.repeatN(10)
      _ = abandon(own._1)
      left <- leaving.join
      used <- Select(teller.on(_.username)).receive.exit
    } yield {
      assertEquals((first, second.value), ("holk", 7L))
      assertEquals(closed.left.map(_.isByPeer), Left(true): Either[Boolean, Long])
      assertEquals(left.left.map(_.isByPeer), Left(false): Either[Boolean, Long])
      assert(used.foldExit(_.dieOption.nonEmpty, _ => false))
    }
  })

  test("a fiber that is interrupted while it receives from a select or a set has the message, or the endpoint has it still")(succeed {
    def round(number: Int): IO[SessionClosed, Boolean] = {
      val (server, client) = numbers.init()
      val set = PortSet[numbers.Stream, Unit]()
      val kept = new AtomicReference(Option.empty[Long])
      val receiving =
        if (number % 2 == 0) Select(server.on(_.value)).receive.flatMap { value =>
          kept.set(Some(value))
          ZIO.unit
        }
        else {
          set.add(server, ())
          set.receive.flatMap { event =>
            event match {
              case PortSet.Received(_, numbers.Stream.Send(value, _)) => kept.set(Some(value))
              case other                                              => fail(other.toString)
            }
            ZIO.unit
          }
        }
      for {
        receiver <- receiving.fork
        // Some are interrupted before there is a message, and some when they have it.
        _ <- ZIO.when(number % 10 == 3 || number % 10 == 6)(receiver.interrupt)
        sender <- ZIO.succeed(client.send(number.toLong)).fork
        _ <- ZIO.when(number % 10 == 4 || number % 10 == 5)(receiver.await)
        _ <- receiver.interrupt
        _ <- sender.join
        has = kept.get.nonEmpty
        _ = if (!has && number % 2 == 1) assertEquals(set.remove(server), Some(()))
        received <- if (has) ZIO.succeed(kept.get) else server.receive.map(message => Option(message.value))
      } yield {
        assertEquals(received, Some(number.toLong))
        has
      }
    }
    ZIO.foreach((1 to 20000).toList)(round).map(had => assert(had.contains(true) && had.contains(false)))
  })

  test("a set receives from many endpoints until all are closed")(succeed {
    val set = PortSet[numbers.Stream, Int]()
    val clients = (1 to 100).toList.map { name =>
      val (server, client) = numbers.init()
      set.add(server, name)
      client
    }
    def total(so: Long, closed: Int): IO[SessionClosed, (Long, Int)] =
      if (set.isEmpty) ZIO.succeed((so, closed))
      else
        set.receive.flatMap {
          case PortSet.Received(name, numbers.Stream.Send(value, next)) =>
            set.add(next, name)
            total(so + value, closed)
          case PortSet.Closed(_, _) => total(so, closed + 1)
        }
    for {
      counting <- total(0L, 0).fork
      _ <- ZIO.foreachParDiscard(clients)(client => ZStream.range(0, 100).run(sendSink(client)((to, value: Int) => to.send(value.toLong))).map(abandon(_)))
      counted <- counting.join
      empty <- set.receive.exit
    } yield {
      assertEquals(counted, (100 * 4950L, 100))
      assert(empty.foldExit(_.dieOption.exists(_.isInstanceOf[NoSuchElementException]), _ => false))
    }
  })

  test("many fibers send with shared senders: nothing is lost, also if some are interrupted while they wait")(succeed {
    val (server, client) = numbers.init()
    val sender = SharedSender(client)
    val sent = new AtomicInteger
    def sends(count: Int): IO[SessionClosed, Unit] =
      ZIO.foreachDiscard((1 to count).toList)(_ => ZIO.uninterruptibleMask(restore => restore(send(sender)(_.send(1L))) *> ZIO.succeed(sent.incrementAndGet())))
    for {
      impatient <- ZIO.foreach((1 to 8).toList)(_ => sends(300).fork)
      _ <- ZIO.yieldNow.repeatN(1000)
      _ <- ZIO.foreachDiscard(impatient)(_.interrupt)
      reading <- values(server).catchAll(_ => ZStream.empty).runSum.fork
      patient <- ZIO.foreach((1 to 8).toList)(_ => sends(1000).fork)
      _ <- ZIO.foreachDiscard(patient)(_.join)
      _ = sender.close()
      received <- reading.join
      closed <- send(sender)(_.send(1L)).exit
    } yield {
      // A fiber that is interrupted between the send and the count has sent as well.
      assert(sent.get <= received && received <= sent.get + 8, (sent.get, received).toString)
      assert(sent.get >= 8000)
      assert(closed.foldExit(_.dieOption.exists(_.isInstanceOf[IllegalStateException]), _ => false))
    }
  })
}
