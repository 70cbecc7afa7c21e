package duologue.interop.cats

import _root_.cats.effect.IO
import _root_.cats.effect.unsafe.IORuntime
import _root_.cats.syntax.all._
import duologue.{EndpointUsed, Probe, SessionClosed, abandon}
import java.util.concurrent.atomic.AtomicReference
import protocols.{bank, numbers, word_count}

/** The bank, word counting, and canceled waits, in fibers. */
final class CatsSuite extends munit.FunSuite {

  private implicit val runtime: IORuntime = IORuntime.global

  private def succeed(effect: IO[Unit]): Unit = effect.unsafeRunSync()

  private def unexpected[A](message: Any): IO[A] = IO.raiseError(new AssertionError(message))

  private def welcome(login: bank.server.Login): IO[bank.server.Connected] = receive[IO](login).flatMap {
    case bank.Login.Login(_, "1234", next) => IO(next.ok())
    case bank.Login.Login(_, _, next)      => IO(next.invalid()).flatMap(welcome)
  }

  private def serve(account: bank.server.Connected, balance: Double): IO[Double] =
    receive[IO](account).flatMap {
      case bank.Connected.Deposit(money, next)                         => serve(next, balance + money)
      case bank.Connected.Withdrawal(amount, next) if amount > balance => IO(next.insufficientFunds()).flatMap(serve(_, balance))
      case bank.Connected.Withdrawal(amount, next)                     => IO(next.money(amount)).flatMap(serve(_, balance - amount))
      case bank.Connected.Quit                                         => IO.pure(balance)
    }

  private def paid(response: bank.WithdrawalResponse): IO[(Double, bank.client.Connected)] = response match {
    case bank.WithdrawalResponse.Money(money, next)      => IO.pure((money, next))
    case bank.WithdrawalResponse.InsufficientFunds(next) => IO.pure((0.0, next))
  }

  test("a customer and a bank")(succeed {
    session[IO](bank.init()).use { case (server, client) =>
      for {
        teller <- welcome(server).flatMap(serve(_, 0.0)).start
        refused <- receive[IO](client.login("holk", "wrong"))
        again <- refused match {
          case bank.LoginResponse.Invalid(next) => IO.pure(next)
          case other                            => unexpected(other)
        }
        open <- receive[IO](again.login("holk", "1234")).flatMap {
          case bank.LoginResponse.Ok(next) => IO.pure(next)
          case other                       => unexpected[bank.client.Connected](other)
        }
        rich <- receive[IO](open.deposit(100.0).withdrawal(30.0)).flatMap(paid)
        poor <- receive[IO](rich._2.withdrawal(500.0)).flatMap(paid)
        _ <- IO(poor._2.quit())
        balance <- teller.joinWithNever
      } yield assertEquals((rich._1, poor._1, balance), (30.0, 0.0, 70.0))
    }
  })

  test("a service hears all that was sent before its client was left, and how it ended")(succeed {
    def sum(server: numbers.server.Stream, so: Long): IO[Long] =
      receive[IO](server).attempt.flatMap {
        case Right(message)                                => sum(message.next, so + message.value)
        case Left(closed: SessionClosed) if closed.isByPeer => IO.pure(so)
        case Left(other)                                   => IO.raiseError(other)
      }
    def round(number: Int): IO[Unit] = for {
      total <- IO.deferred[Either[Throwable, Long]]
      _ <- service[IO](numbers.init())(sum(_, 0L).attempt.flatMap(total.complete(_).void)).use {
        client => IO((1 to number).foldLeft(client)((client, value) => client.send(value.toLong)): Unit)
      }
      heard <- total.get
    } yield assertEquals(heard, Right(number * (number + 1L) / 2): Either[Throwable, Long])
    (1 to 1000).toList.traverse_(number => round(number % 200))
  })

  test("a service's side is left when it ends or fails, and what it fails with is reported")(succeed {
    def asked(serving: IO[Unit]) = service[IO](bank.init())(_ => serving).use { client =>
      IO(client.login("holk", "1234")).flatMap(receive[IO](_)).attempt
    }
    val failure = new RuntimeException("no")
    val reported = new AtomicReference(Option.empty[Throwable])
    val context = new scala.concurrent.ExecutionContext {
      def execute(task: Runnable): Unit = scala.concurrent.ExecutionContext.global.execute(task)
      def reportFailure(cause: Throwable): Unit = reported.set(Some(cause))
    }
    for {
      ended <- asked(IO.unit)
      failed <- asked(IO.raiseError(failure)).evalOn(context)
      _ <- IO.cede.whileM_(IO(reported.get.isEmpty))
    } yield {
      assert(ended.isLeft && failed.isLeft)
      assertEquals(reported.get, Some(failure): Option[Throwable])
    }
  })

  private def count(counting: word_count.server.Counting, totals: Map[String, Long]): IO[Unit] = receive[IO](counting).flatMap {
    case word_count.Counting.Count(word, n, next) => count(next, totals.updated(word, totals.getOrElse(word, 0L) + n))
    case word_count.Counting.Done(next) =>
      IO(totals.toList.sorted.foldLeft(next) { case (next, (word, n)) => next.total(word, n) }.end())
  }

  private def tell(counting: word_count.client.Counting, words: List[String]): IO[word_count.client.Totals] = words match {
    case word :: rest =>
      send[IO](counting)(_.count(word, 1L)).flatMap(tell(_, rest))
    case Nil => IO(counting.done())
  }

  private def read(totals: word_count.client.Totals, so: List[(String, Long)]): IO[List[(String, Long)]] =
    receive[IO](totals).flatMap {
      case word_count.Totals.Total(word, n, next) => read(next, (word, n) :: so)
      case word_count.Totals.End()                => IO.pure(so.reverse)
    }

  test("many more words are counted than there is space for")(succeed {
    val words = List.fill(500)(List("the", "cat", "and", "the", "hat")).flatten
    session[IO](word_count.init()).use { case (server, client) =>
      for {
        counter <- count(server, Map.empty).start
        totals <- tell(client, words)
        // The totals fit in the buffer; the words did not.
        read <- read(totals, Nil)
        _ <- counter.joinWithNever
      } yield assertEquals(read, List(("and", 500L), ("cat", 500L), ("hat", 500L), ("the", 1000L)))
    }
  })

  test("a closed session is reported to the peer, and to its own side")(succeed {
    List(true, false).traverse_ { own =>
      for {
        ends <- IO(numbers.init())
        waiting <- receive[IO](ends._1).attempt.start
        _ <- IO.cede
        _ <- IO(if (own) abandon(ends._1) else abandon(ends._2))
        told <- waiting.joinWithNever
      } yield told match {
        case Left(_: SessionClosed)       => ()
        case Left(_: EndpointUsed) if own => ()
        case other                        => fail(other.toString)
      }
    }
  })

  test("a cancelled wait loses no message and no endpoint")(succeed {
    def round(number: Int): IO[Boolean] = for {
      ends <- IO(numbers.init())
      waiting <- ready[IO](ends._1).start
      // Some are canceled before there is a message.
      _ <- waiting.cancel.whenA(number % 10 == 0)
      sending <- IO(ends._2.send(number.toLong)).start
      _ <- waiting.cancel
      _ <- sending.joinWithNever
      outcome <- waiting.join
      received <- receive[IO](ends._1)
    } yield {
      assertEquals(received.value, number.toLong)
      outcome.isCanceled
    }
    (1 to 3000).toList.traverse(round).map(cancelled => assert(cancelled.contains(true)))
  })

  test("a fiber that is cancelled while it receives has the message, or the endpoint has it still")(succeed {
    def round(number: Int): IO[Boolean] = {
      val (server, client) = numbers.init()
      val kept = new AtomicReference(Option.empty[Long])
      val receiving =
        if (number % 2 == 0) receive[IO](server).flatMap { message =>
          kept.set(Some(message.value))
          IO.unit
        }
        else IO.uncancelable(poll => poll(receive[IO](server)).flatMap(message => IO(kept.set(Some(message.value)))))
      for {
        receiver <- receiving.start
        // Some are canceled before there is a message, and some when they have it.
        _ <- receiver.cancel.whenA(number % 10 == 3)
        sender <- IO(client.send(number.toLong)).start
        _ <- receiver.join.whenA(number % 10 == 4)
        _ <- receiver.cancel
        _ <- sender.joinWithNever
        has = kept.get.nonEmpty
        received <- if (has) IO.pure(kept.get) else receive[IO](server).map(message => Option(message.value))
      } yield {
        assertEquals(received, Some(number.toLong))
        has
      }
    }
    (1 to 20000).toList.traverse(round).map(had => assert(had.contains(true) && had.contains(false)))
  })

  test("a fiber that is cancelled while it sends has the next endpoint, or has its own still")(succeed {
    type Client = numbers.client.Stream
    def round(number: Int): IO[Boolean] = {
      val (server, client) = numbers.init()
      val kept = new AtomicReference(Option.empty[Client])
      val sends = send[IO](client)(_.send(number.toLong))
      val sending =
        if (number % 2 == 0) sends.flatMap { next =>
          kept.set(Some(next))
          IO.unit
        }
        else IO.uncancelable(poll => poll(sends).flatMap(next => IO(kept.set(Some(next)))))
      for {
        // Some never get to the send, some always do, and the others have some time for it.
        sender <- (IO.never[Unit].whenA(number % 10 == 3) *> sending).start
        _ <- IO.cede.replicateA_(number % 7)
        _ <- sender.join.whenA(number % 10 == 4)
        _ <- sender.cancel
        has = kept.get.nonEmpty
        next <- if (has) IO.pure(kept.get.get) else sends
        _ = next.send(0L)
        first <- receive[IO](server)
        second <- receive[IO](first.next)
      } yield {
        assertEquals((first.value, second.value), (number.toLong, 0L))
        has
      }
    }
    (1 to 20000).toList.traverse(round).map(had => assert(had.contains(true) && had.contains(false)))
  })

  test("a side that is abandoned while its message is being received learns so, or has the message")(succeed {
    def round(number: Int): IO[Boolean] = {
      val (server, client) = numbers.init()
      for {
        receiver <- receive[IO](server).attempt.start
        _ <- IO.cede.untilM_(IO(Probe.waits(server)))
        // Some are sent no message, so they always fail, and some always have theirs first.
        _ <- (IO(client.send(7L)) *> receiver.join).whenA(number % 10 == 4)
        _ <- IO {
          if (number % 10 != 3 && number % 10 != 4) client.send(7L): Unit
          abandon(server)
        }
        outcome <- receiver.joinWithNever
      } yield outcome match {
        case Left(_: SessionClosed) =>
          assertNotEquals(number % 10, 4)
          true
        case Right(message) =>
          assertEquals(message.value, 7L)
          assertNotEquals(number % 10, 3)
          false
        case Left(other) => throw other
      }
    }
    (1 to 5000).toList.traverse(round).map(told => assert(told.contains(true) && told.contains(false)))
  })

  test("a canceled wait for space sends nothing")(succeed {
    def fill(client: numbers.client.Stream, left: Int): numbers.client.Stream =
      if (left == 0) client else fill(client.send(0L), left - 1)
    for {
      ends <- IO(numbers.init())
      full = fill(ends._2, 255)
      waiting <- send[IO](full)(_.send(1L)).start
      _ <- IO.cede
      _ <- waiting.cancel
      outcome <- waiting.join
      received <- receive[IO](ends._1)
    } yield {
      assert(outcome.isCanceled)
      assertEquals(received.value, 0L)
      abandon(full)
    }
  })
}
