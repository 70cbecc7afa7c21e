package duologue.interop.zio

import _root_.zio.{Exit, IO, Promise, Runtime, UIO, Unsafe, ZIO}
import duologue.{EndpointUsed, Probe, SessionClosed, abandon}
import java.util.concurrent.atomic.AtomicReference
import protocols.{bank, numbers, word_count}

/** The bank, word counting, and interrupted waits, in fibers. */
final class ZioSuite extends munit.FunSuite {

  private def run[E, A](effect: IO[E, A]): Exit[E, A] = Unsafe.unsafe { implicit unsafe => Runtime.default.unsafe.run(effect) }

  private def succeed(effect: IO[SessionClosed, Unit]): Unit =
    assertEquals(run(effect), Exit.succeed(()): Exit[SessionClosed, Unit])

  private def welcome(login: bank.server.Login): IO[SessionClosed, bank.server.Connected] = login.receive.flatMap {
    case bank.Login.Login(_, "1234", next) => ZIO.attempt(next.ok()).refineToOrDie[SessionClosed]
    case bank.Login.Login(_, _, next)      => welcome(next.invalid())
  }

  private def serve(account: bank.server.Connected, balance: Double): IO[SessionClosed, Double] = account.receive.flatMap {
    case bank.Connected.Deposit(money, next)                        => serve(next, balance + money)
    case bank.Connected.Withdrawal(amount, next) if amount > balance => serve(next.insufficientFunds(), balance)
    case bank.Connected.Withdrawal(amount, next)                    => serve(next.money(amount), balance - amount)
    case bank.Connected.Quit                                        => ZIO.succeed(balance)
  }

  private def connected(response: bank.LoginResponse): UIO[bank.client.Connected] = response match {
    case bank.LoginResponse.Ok(next) => ZIO.succeed(next)
    case other                       => ZIO.dieMessage(other.toString)
  }

  private def paid(response: bank.WithdrawalResponse): UIO[(Double, bank.client.Connected)] = response match {
    case bank.WithdrawalResponse.Money(money, next)      => ZIO.succeed((money, next))
    case bank.WithdrawalResponse.InsufficientFunds(next) => ZIO.succeed((0.0, next))
  }

  test("a customer and a bank")(succeed {
    ZIO.scoped {
      for {
        ends <- session(bank.init())
        (server, client) = ends
        teller <- welcome(server).flatMap(serve(_, 0.0)).fork
        refused <- client.login("holk", "wrong").receive
        again <- refused match {
          case bank.LoginResponse.Invalid(next) => ZIO.succeed(next)
          case other                            => ZIO.dieMessage(other.toString)
        }
        open <- again.login("holk", "1234").receive.flatMap(connected)
        rich <- open.deposit(100.0).withdrawal(30.0).receive.flatMap(paid)
        poor <- rich._2.withdrawal(500.0).receive.flatMap(paid)
        _ = poor._2.quit()
        balance <- teller.join
      } yield assertEquals((rich._1, poor._1, balance), (30.0, 0.0, 70.0))
    }
  })

  test("a service hears all that was sent before the scope ended, and how it ended")(succeed {
    def sum(server: numbers.server.Stream, so: Long): IO[SessionClosed, Long] =
      server.receive.foldZIO(closed => if (closed.isByPeer) ZIO.succeed(so) else ZIO.fail(closed), message => sum(message.next, so + message.value))
    def round(number: Int): IO[SessionClosed, Unit] = for {
      total <- Promise.make[SessionClosed, Long]
      _ <- ZIO.scoped[Any](service(numbers.init())(sum(_, 0L).intoPromise(total)).flatMap { client =>
        ZIO.succeed((1 to number).foldLeft(client)((client, value) => client.send(value.toLong)): Unit)
      })
      heard <- total.await
    } yield assertEquals(heard, number * (number + 1L) / 2)
    ZIO.foreachDiscard((1 to 1000).toList)(number => round(number % 200))
  })

  test("a service's side is left when it ends or fails, and it can be interrupted inside")(succeed {
    def asked(serving: IO[String, Unit]) = ZIO.scoped[Any] {
      service(bank.init())(_ => serving).flatMap(client => ZIO.attempt(client.login("holk", "1234")).flatMap(_.receive).either)
    }
    for {
      ended <- asked(ZIO.unit)
      failed <- asked(ZIO.fail("no"))
      stopped <- Promise.make[Nothing, Boolean]
      _ <- ZIO.scoped[Any](service(bank.init())(_ => ZIO.never.fork.flatMap(_.interrupt).flatMap(exit => stopped.succeed(exit.isInterrupted))))
      interrupted <- stopped.await
    } yield assert(ended.isLeft && failed.isLeft && interrupted)
  })

  private def count(counting: word_count.server.Counting, totals: Map[String, Long]): IO[SessionClosed, Unit] =
    counting.receive.flatMap {
      case word_count.Counting.Count(word, n, next) => count(next, totals.updated(word, totals.getOrElse(word, 0L) + n))
      case word_count.Counting.Done(next) =>
        ZIO.succeed(totals.toList.sorted.foldLeft(next) { case (next, (word, n)) => next.total(word, n) }.end())
    }

  private def tell(counting: word_count.client.Counting, words: List[String]): IO[SessionClosed, word_count.client.Totals] =
    words match {
      case word :: rest => send(counting)(_.count(word, 1L)).flatMap(tell(_, rest))
      case Nil          => send(counting)(_.done())
    }

  private def read(totals: word_count.client.Totals, so: List[(String, Long)]): IO[SessionClosed, List[(String, Long)]] =
    totals.receive.flatMap {
      case word_count.Totals.Total(word, n, next) => read(next, (word, n) :: so)
      case word_count.Totals.End()                => ZIO.succeed(so.reverse)
    }

  test("many more words are counted than there is space for")(succeed {
    val words = List.fill(500)(List("the", "cat", "and", "the", "hat")).flatten
    ZIO.scoped {
      for {
        ends <- session(word_count.init())
        counter <- count(ends._1, Map.empty).fork
        totals <- tell(ends._2, words)
        // The totals fit in the buffer; the words did not.
        read <- read(totals, Nil)
        _ <- counter.join
      } yield assertEquals(read, List(("and", 500L), ("cat", 500L), ("hat", 500L), ("the", 1000L)))
    }
  })

  test("a closed session is reported to the peer, and to its own side")(succeed {
    ZIO.foreachDiscard(List(true, false)) { own =>
      for {
        ends <- ZIO.succeed(numbers.init())
        waiting <- ends._1.receive.fork
        _ <- ZIO.yieldNow
        _ <- ZIO.succeed(if (own) abandon(ends._1) else abandon(ends._2))
        told <- waiting.await
      } yield {
        val failed = told.foldExit(_.failures.nonEmpty, _ => false)
        // Its own side may have been abandoned before the wait began, and then the endpoint counts as used.
        val died = told.foldExit(_.dieOption.exists(_.isInstanceOf[EndpointUsed]), _ => false)
        assert(failed || own && died, told.toString)
      }
    }
  })

  test("an interrupted wait loses no message and no endpoint")(succeed {
    def round(number: Int): IO[SessionClosed, Boolean] = for {
      ends <- ZIO.succeed(numbers.init())
      (server, client) = ends
      waiting <- ready(server).fork
      // Some are interrupted before there is a message.
      _ <- ZIO.when(number % 10 == 0)(waiting.interrupt)
      sending <- ZIO.succeed(client.send(number.toLong)).fork
      outcome <- waiting.interrupt
      _ <- sending.join
      received <- server.receive
    } yield {
      assertEquals(received.value, number.toLong)
      outcome.isInterrupted
    }
    ZIO.foreach((1 to 3000).toList)(round).map(interrupted => assert(interrupted.contains(true)))
  })

  test("a fiber that is interrupted while it receives has the message, or the endpoint has it still")(succeed {
    def round(number: Int): IO[SessionClosed, Boolean] = {
      val (server, client) = numbers.init()
      val kept = new AtomicReference(Option.empty[Long])
      val receiving =
        if (number % 2 == 0) server.receive.flatMap { message =>
          kept.set(Some(message.value))
          ZIO.unit
        }
        else ZIO.uninterruptibleMask(restore => restore(server.receive).flatMap(message => ZIO.succeed(kept.set(Some(message.value)))))
      for {
        receiver <- receiving.fork
        // Some are interrupted before there is a message, and some when they have it.
        _ <- ZIO.when(number % 10 == 3)(receiver.interrupt)
        sender <- ZIO.succeed(client.send(number.toLong)).fork
        _ <- ZIO.when(number % 10 == 4)(receiver.await)
        _ <- receiver.interrupt
        _ <- sender.join
        has = kept.get.nonEmpty
        received <- if (has) ZIO.succeed(kept.get) else server.receive.map(message => Option(message.value))
      } yield {
        assertEquals(received, Some(number.toLong))
        has
      }
    }
    ZIO.foreach((1 to 20000).toList)(round).map(had => assert(had.contains(true) && had.contains(false)))
  })

  test("a fiber that is interrupted while it sends where nothing interrupts has the next endpoint, or has its own still")(succeed {
    def round(number: Int): IO[SessionClosed, Boolean] = {
      val (server, client) = numbers.init()
      val kept = new AtomicReference(Option.empty[numbers.client.Stream])
      val sending = ZIO.uninterruptibleMask { restore =>
        restore(ready(client)) *> send(client)(_.send(number.toLong)).flatMap(next => ZIO.succeed(kept.set(Some(next))))
      }
      for {
        // Some never get to the send, some always do, and the others have some time for it.
        sender <- (ZIO.when(number % 10 == 3)(ZIO.never) *> sending).fork
        _ <- ZIO.yieldNow.repeatN(number % 7)
        _ <- ZIO.when(number % 10 == 4)(sender.await)
        _ <- sender.interrupt
        has = kept.get.nonEmpty
        next <- if (has) ZIO.succeed(kept.get.get) else send(client)(_.send(number.toLong))
        _ = next.send(0L)
        first <- server.receive
        second <- first.next.receive
      } yield {
        assertEquals((first.value, second.value), (number.toLong, 0L))
        has
      }
    }
    ZIO.foreach((1 to 20000).toList)(round).map(had => assert(had.contains(true) && had.contains(false)))
  })

  test("a side that is abandoned while its message is being received learns so, or has the message")(succeed {
    def round(number: Int): IO[SessionClosed, Boolean] = {
      val (server, client) = numbers.init()
      for {
        receiver <- server.receive.fork
        _ <- ZIO.yieldNow.repeatUntil(_ => Probe.waits(server))
        // Some are sent no message, so they always fail, and some always have theirs first.
        _ <- ZIO.when(number % 10 == 4)(ZIO.succeed(client.send(7L)) *> receiver.await)
        _ <- ZIO.succeed {
          if (number % 10 != 3 && number % 10 != 4) client.send(7L): Unit
          abandon(server)
        }
        outcome <- receiver.await
      } yield outcome match {
        case Exit.Success(message) =>
          assertEquals(message.value, 7L)
          assertNotEquals(number % 10, 3)
          false
        case Exit.Failure(cause) =>
          assert(cause.failures.nonEmpty, cause.toString)
          assertNotEquals(number % 10, 4)
          true
      }
    }
    ZIO.foreach((1 to 5000).toList)(round).map(told => assert(told.contains(true) && told.contains(false)))
  })

  test("an interrupted wait for space sends nothing")(succeed {
    def fill(client: numbers.client.Stream, left: Int): numbers.client.Stream =
      if (left == 0) client else fill(client.send(0L), left - 1)
    for {
      ends <- ZIO.succeed(numbers.init())
      full = fill(ends._2, 255)
      waiting <- send(full)(_.send(1L)).fork
      _ <- ZIO.yieldNow
      outcome <- waiting.interrupt
      received <- ends._1.receive
    } yield {
      assert(outcome.isInterrupted)
      assertEquals(received.value, 0L)
      abandon(full)
    }
  })
}
