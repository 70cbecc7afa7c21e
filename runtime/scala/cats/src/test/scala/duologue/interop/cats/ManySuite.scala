package duologue.interop.cats

import _root_.cats.effect.IO
import _root_.cats.effect.unsafe.IORuntime
import _root_.cats.syntax.all._
import _root_.fs2.Stream
import duologue.{EndpointUsed, PortSet, Select, SessionClosed, SharedSender, abandon, trySend}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import protocols.{bank, numbers, word_count}

/** Streams, selects, port sets and shared senders, in fibers. */
final class ManySuite extends munit.FunSuite {

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

  test("a closed session is a value, where that is wanted")(succeed {
    val (server, client) = numbers.init()
    for {
      sent <- sendOrClosed[IO](client)(_.send(1L))
      received <- receiveOrClosed[IO](server)
      next <- IO.fromEither(received).map(_.next)
      _ = abandon(next)
      refused <- sendOrClosed[IO](sent.fold(closed => throw closed, next => next))(_.send(2L))
      (other, leaving) = numbers.init()
      _ = abandon(leaving)
      over <- receiveOrClosed[IO](other)
      used <- sendOrClosed[IO](client)(_.send(1L)).attempt
    } yield {
      assertEquals((received.map(_.value), refused.isLeft, over.isLeft), (Right(1L): Either[SessionClosed, Long], true, true))
      assert(used.left.exists(_.isInstanceOf[EndpointUsed]))
    }
  })

  test("a select takes the endpoint that is ready, and reports one that is closed by either side")(succeed {
    val (counter, counting) = numbers.init()
    val (teller, customer) = bank.init()
    def select = Select(counter.on(_.value.toString), teller.on(_.username))
    for {
      waiting <- receive[IO](select).start
      _ <- IO.cede.replicateA_(10)
      _ = customer.login("holk", "1234")
      first <- waiting.joinWithNever
      more = counting.send(7L)
      second <- receive[IO](Select(counter.on(message => IO.pure(message)))).flatten
      closing <- closed(receive[IO](Select(second.next.on(_.value)))).start
      _ <- IO.cede.replicateA_(10)
      _ = abandon(more)
      peer <- closing.joinWithNever
      own = numbers.init()
      leaving <- closed(receive[IO](Select(own._1.on(_.value)))).start
      _ <- IO.cede.replicateA_(10)
      _ = abandon(own._1)
      left <- leaving.joinWithNever
      used <- receive[IO](Select(teller.on(_.username))).attempt
    } yield {
      assertEquals((first, second.value, peer.isByPeer, left.isByPeer), ("holk", 7L, true, false))
      assert(used.left.exists(_.isInstanceOf[EndpointUsed]))
    }
  })

  test("a fiber that is cancelled while it receives from a select or a set has the message, or the endpoint has it still")(succeed {
    def round(number: Int): IO[Boolean] = {
      val (server, client) = numbers.init()
      val set = PortSet[numbers.Stream, Unit]()
      val kept = new AtomicReference(Option.empty[Long])
      val receiving =
        if (number % 2 == 0) receive[IO](Select(server.on(_.value))).flatMap { value =>
          kept.set(Some(value))
          IO.unit
        }
        else {
          set.add(server, ())
          receive[IO](set).flatMap { event =>
            event match {
              case PortSet.Received(_, numbers.Stream.Send(value, _)) => kept.set(Some(value))
              case other                                              => fail(other.toString)
            }
            IO.unit
          }
        }
      for {
        receiver <- receiving.start
        // Some are canceled before there is a message, and some when they have it.
        _ <- receiver.cancel.whenA(number % 10 == 3 || number % 10 == 6)
        sender <- IO(client.send(number.toLong)).start
        _ <- receiver.join.whenA(number % 10 == 4 || number % 10 == 5)
        _ <- receiver.cancel
        _ <- sender.joinWithNever
        has = kept.get.nonEmpty
        _ = if (!has && number % 2 == 1) assertEquals(set.remove(server), Some(()))
        received <- if (has) IO.pure(kept.get) else receive[IO](server).map(message => Option(message.value))
      } yield {
        assertEquals(received, Some(number.toLong))
        has
      }
    }
    (1 to 20000).toList.traverse(round).map(had => assert(had.contains(true) && had.contains(false)))
  })

  test("a set receives from many endpoints until all are closed")(succeed {
    val set = PortSet[numbers.Stream, Int]()
    val clients = (1 to 100).toList.map { name =>
      val (server, client) = numbers.init()
      set.add(server, name)
      client
    }
    def total(so: Long, closed: Int): IO[(Long, Int)] =
      if (set.isEmpty) IO.pure((so, closed))
      else
        receive[IO](set).flatMap {
          case PortSet.Received(name, numbers.Stream.Send(value, next)) =>
            set.add(next, name)
            total(so + value, closed)
          case PortSet.Closed(_, _) => total(so, closed + 1)
        }
    for {
      counting <- total(0L, 0).start
      _ <- clients.parTraverse_ { client =>
        Stream.range(0, 100).through(sendPipe[IO](client)((to, value: Int) => to.send(value.toLong))).compile.lastOrError.map(abandon(_))
      }
      counted <- counting.joinWithNever
      empty <- receive[IO](set).attempt
    } yield {
      assertEquals(counted, (100 * 4950L, 100))
      assert(empty.left.exists(_.isInstanceOf[NoSuchElementException]))
    }
  })

  test("many fibers send with shared senders: nothing is lost, also if some are cancelled while they wait")(succeed {
    val (server, client) = numbers.init()
    val sender = SharedSender(client)
    val sent = new AtomicInteger
    def sends(count: Int): IO[Unit] =
      IO.uncancelable(poll => poll(send[IO](sender)(_.send(1L))) *> IO(sent.incrementAndGet())).replicateA_(count)
    for {
      impatient <- List.fill(8)(sends(300)).traverse(_.start)
      _ <- IO.cede.replicateA_(1000)
      _ <- impatient.traverse_(_.cancel)
      reading <- values(server).handleErrorWith(_ => Stream.empty).compile.foldMonoid.start
      patient <- List.fill(8)(sends(1000)).traverse(_.start)
      _ <- patient.traverse_(_.joinWithNever)
      _ = sender.close()
      received <- reading.joinWithNever
      closed <- send[IO](sender)(_.send(1L)).attempt
    } yield {
      assertEquals(received, sent.get.toLong)
      assert(sent.get >= 8000)
      assert(closed.left.exists(_.isInstanceOf[IllegalStateException]))
    }
  })
}
