package duologue.interop

import duologue.{Endpoint, EndpointUsed, PortSet, Probe, RecvEndpoint, Select, SendEndpoint, SessionClosed, Shareable, SharedSender, abandon}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import protocols.{bank, numbers, word_count}

/** How a fiber has ended. */
sealed trait End[+A]
final case class Value[A](value: A) extends End[A]
final case class Failed(thrown: Throwable) extends End[Nothing]
final case class Stopped() extends End[Nothing]

/** Sessions in fibers, the same for each library: the bank, word counting, waits that are stopped, selects, sets and shared senders. */
abstract class FiberSuite[F[_]] extends munit.FunSuite {

  // ---- the library

  protected type Fiber[_]

  protected def succeed(effect: F[Unit]): Unit
  protected def delay[A](body: => A): F[A]
  protected def chain[A, B](first: F[A])(next: A => F[B]): F[B]
  protected def attempt[A](effect: F[A]): F[Either[Throwable, A]]
  protected def cede: F[Unit]
  protected def start[A](effect: F[A]): F[Fiber[A]]
  protected def stop[A](fiber: Fiber[A]): F[Unit]
  protected def end[A](fiber: Fiber[A]): F[End[A]]

  /** `effect` can be stopped, what follows cannot. */
  protected def masked[A, B](effect: F[A])(next: A => F[B]): F[B]

  // ---- its adapter

  protected def inSession[S <: Endpoint, C <: Endpoint](init: => (S, C))(use: (S, C) => F[Unit]): F[Unit]
  protected def withService[S <: Endpoint, C <: Endpoint, A](init: => (S, C))(serve: S => F[Unit])(use: C => F[A]): F[A]
  protected def ready(endpoint: Endpoint): F[Unit]
  protected def receive[M](endpoint: RecvEndpoint[M]): F[M]
  protected def receive[R](select: Select[R]): F[R]
  protected def receive[M, A](set: PortSet[M, A]): F[PortSet.Event[M, A]]
  protected def send[E <: SendEndpoint, R](endpoint: E)(message: E => R): F[R]
  protected def send[E <: SendEndpoint with Shareable](sender: SharedSender[E])(message: E => E): F[Unit]

  /** Sends a stream of these values. */
  protected def sendAll[E <: SendEndpoint, A](endpoint: E, values: List[A])(message: (E, A) => E): F[E]

  /** Sends a stream that fails after these values. */
  protected def sendFailing(endpoint: numbers.client.Stream, values: List[Long], failure: Throwable): F[Unit]

  /** The values of a stream of messages, and what it has failed with. */
  protected def receiveAll[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]])): F[(List[A], Option[Throwable])]

  /** The first chunk of a stream of messages, of which no more is read. */
  protected def receiveFirst[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]])): F[List[A]]

  // ---- what can be said with them

  protected implicit final class Chained[A](self: F[A]) {
    def flatMap[B](next: A => F[B]): F[B] = chain(self)(next)
    def map[B](next: A => B): F[B] = chain(self)(value => delay(next(value)))
  }

  protected def when(condition: Boolean)(effect: => F[Unit]): F[Unit] = if (condition) effect else delay(())

  protected def times(count: Int)(effect: F[Unit]): F[Unit] = if (count == 0) delay(()) else effect.flatMap(_ => times(count - 1)(effect))

  protected def until(condition: => Boolean): F[Unit] = cede.flatMap(_ => if (condition) delay(()) else until(condition))

  protected def all[A, B](values: List[A])(effect: A => F[B]): F[List[B]] = {
    def next(left: List[A], so: List[B]): F[List[B]] = left match {
      case value :: rest => effect(value).flatMap(result => next(rest, result :: so))
      case Nil           => delay(so.reverse)
    }
    next(values, Nil)
  }

  /** What a fiber returns. */
  protected def join[A](fiber: Fiber[A]): F[A] = end(fiber).map {
    case Value(value)   => value
    case Failed(thrown) => throw thrown
    case Stopped()      => fail("it was stopped")
  }

  protected def awaited[A](fiber: Fiber[A]): F[Unit] = end(fiber).map(_ => ())

  protected def isStopped[A](end: End[A]): Boolean = end match {
    case Stopped() => true
    case _         => false
  }

  /** Why an effect has failed. */
  protected def closed[A](effect: F[A]): F[SessionClosed] = attempt(effect).map {
    case Left(closed: SessionClosed) => closed
    case other                       => fail(other.toString)
  }

  /** Many rounds, some of which end in one way and some in the other. */
  private def rounds(count: Int)(round: Int => F[Boolean]): Unit =
    succeed(all((1 to count).toList)(round).map(found => assert(found.contains(true) && found.contains(false))))

  // ---- conversations

  private def welcome(login: bank.server.Login): F[bank.server.Connected] = receive(login).flatMap {
    case bank.Login.Login(_, "1234", next) => delay(next.ok())
    case bank.Login.Login(_, _, next)      => delay(next.invalid()).flatMap(welcome(_))
  }

  private def serve(account: bank.server.Connected, balance: Double): F[Double] = receive(account).flatMap {
    case bank.Connected.Deposit(money, next)                         => serve(next, balance + money)
    case bank.Connected.Withdrawal(amount, next) if amount > balance => delay(next.insufficientFunds()).flatMap(serve(_, balance))
    case bank.Connected.Withdrawal(amount, next)                     => delay(next.money(amount)).flatMap(serve(_, balance - amount))
    case bank.Connected.Quit                                         => delay(balance)
  }

  private def paid(response: bank.WithdrawalResponse): (Double, bank.client.Connected) = response match {
    case bank.WithdrawalResponse.Money(money, next)      => (money, next)
    case bank.WithdrawalResponse.InsufficientFunds(next) => (0.0, next)
  }

  test("a customer and a bank")(succeed(inSession(bank.init()) { (server, client) =>
    for {
      teller <- start(welcome(server).flatMap(serve(_, 0.0)))
      refused <- receive(client.login("holk", "wrong"))
      again = refused match {
        case bank.LoginResponse.Invalid(next) => next
        case other                            => fail(other.toString)
      }
      accepted <- receive(again.login("holk", "1234"))
      open = accepted match {
        case bank.LoginResponse.Ok(next) => next
        case other                       => fail(other.toString)
      }
      rich <- receive(open.deposit(100.0).withdrawal(30.0)).map(paid(_))
      poor <- receive(rich._2.withdrawal(500.0)).map(paid(_))
      _ <- delay(poor._2.quit())
      balance <- join(teller)
    } yield assertEquals((rich._1, poor._1, balance), (30.0, 0.0, 70.0))
  }))

  test("a service hears all that was sent before its client was left, and how it ended")(succeed {
    def sum(server: numbers.server.Stream, so: Long): F[Long] = attempt(receive(server)).flatMap {
      case Right(message)                                => sum(message.next, so + message.value)
      case Left(closed: SessionClosed) if closed.isByPeer => delay(so)
      case Left(other)                                   => throw other
    }
    def round(number: Int): F[Unit] = {
      val total = new AtomicReference(Option.empty[Long])
      for {
        _ <- withService(numbers.init())(sum(_, 0L).map(sum => total.set(Some(sum)))) { client =>
          delay((1 to number).foldLeft(client)((client, value) => client.send(value.toLong)): Unit)
        }
        _ <- until(total.get.nonEmpty)
      } yield assertEquals(total.get, Some(number * (number + 1L) / 2))
    }
    all((1 to 1000).toList)(number => round(number % 200)).map(_ => ())
  })

  private def count(counting: word_count.server.Counting, totals: Map[String, Long]): F[Unit] = receive(counting).flatMap {
    case word_count.Counting.Count(word, n, next) => count(next, totals.updated(word, totals.getOrElse(word, 0L) + n))
    case word_count.Counting.Done(next) =>
      delay(totals.toList.sorted.foldLeft(next) { case (next, (word, n)) => next.total(word, n) }.end())
  }

  private def tell(counting: word_count.client.Counting, words: List[String]): F[word_count.client.Totals] = words match {
    case word :: rest => send(counting)(_.count(word, 1L)).flatMap(tell(_, rest))
    case Nil          => send(counting)(_.done())
  }

  private def read(totals: word_count.client.Totals, so: List[(String, Long)]): F[List[(String, Long)]] = receive(totals).flatMap {
    case word_count.Totals.Total(word, n, next) => read(next, (word, n) :: so)
    case word_count.Totals.End()                => delay(so.reverse)
  }

  test("many more words are counted than there is space for")(succeed(inSession(word_count.init()) { (server, client) =>
    for {
      counter <- start(count(server, Map.empty))
      totals <- tell(client, List.fill(500)(List("the", "cat", "and", "the", "hat")).flatten)
      // The totals fit in the buffer; the words did not.
      read <- read(totals, Nil)
      _ <- join(counter)
    } yield assertEquals(read, List(("and", 500L), ("cat", 500L), ("hat", 500L), ("the", 1000L)))
  }))

  test("a closed session is reported to the peer, and to its own side")(succeed {
    all(List(true, false)) { own =>
      val (server, client) = numbers.init()
      for {
        waiting <- start(attempt(receive(server)))
        _ <- cede
        _ <- delay(if (own) abandon(server) else abandon(client))
        outcome <- join(waiting)
      } yield outcome match {
        case Left(_: SessionClosed) => ()
        // It may have been abandoned before the wait began, and then the endpoint counts as used.
        case Left(_: EndpointUsed) if own => ()
        case other                        => fail(other.toString)
      }
    }.map(_ => ())
  })

  // ---- fibers that are stopped

  test("a wait that is stopped loses no message and no endpoint")(rounds(3000) { number =>
    val (server, client) = numbers.init()
    for {
      waiting <- start(ready(server))
      // Some are stopped before there is a message, and some never.
      _ <- when(number % 10 == 0)(stop(waiting))
      sending <- start(delay(client.send(number.toLong)))
      _ <- when(number % 10 == 1)(awaited(waiting))
      _ <- stop(waiting)
      outcome <- end(waiting)
      _ <- join(sending)
      received <- receive(server)
    } yield {
      assertEquals(received.value, number.toLong)
      isStopped(outcome)
    }
  })

  /** Receives in a fiber that is stopped at some moment. Returns whether it has kept the message; otherwise the endpoint has it still, after
    * `freed`.
    */
  private def stopped(number: Int, server: numbers.server.Stream, client: numbers.client.Stream, kept: AtomicReference[Option[Long]])(
      receiving: F[Unit]
  )(freed: => Unit): F[Boolean] =
    for {
      receiver <- start(receiving)
      // Some are stopped before there is a message, and some when they have it.
      _ <- when(number % 10 == 3 || number % 10 == 6)(stop(receiver))
      sender <- start(delay(client.send(number.toLong)))
      _ <- when(number % 10 == 4 || number % 10 == 5)(awaited(receiver))
      _ <- stop(receiver)
      _ <- join(sender)
      has = kept.get.nonEmpty
      _ <- delay(if (!has) freed)
      received <- if (has) delay(kept.get) else receive(server).map(message => Option(message.value))
    } yield {
      assertEquals(received, Some(number.toLong))
      has
    }

  test("a fiber that is stopped while it receives has the message, or the endpoint has it still")(rounds(20000) { number =>
    val (server, client) = numbers.init()
    val kept = new AtomicReference(Option.empty[Long])
    val receiving =
      if (number % 2 == 0) receive(server).flatMap { message =>
        kept.set(Some(message.value))
        delay(())
      }
      else masked(receive(server))(message => delay(kept.set(Some(message.value))))
    stopped(number, server, client, kept)(receiving)(())
  })

  test("a fiber that is stopped while it receives from a select or a set has the message, or the endpoint has it still")(rounds(20000) { number =>
    val (server, client) = numbers.init()
    val set = PortSet[numbers.Stream, Unit]()
    val kept = new AtomicReference(Option.empty[Long])
    val receiving =
      if (number % 2 == 0) receive(Select(server.on(_.value))).flatMap { value =>
        kept.set(Some(value))
        delay(())
      }
      else {
        set.add(server, ())
        receive(set).flatMap {
          case PortSet.Received(_, numbers.Stream.Send(value, _)) =>
            kept.set(Some(value))
            delay(())
          case other => fail(other.toString)
        }
      }
    stopped(number, server, client, kept)(receiving)(if (number % 2 == 1) assertEquals(set.remove(server), Some(())))
  })

  test("a side that is abandoned while its message is being received learns so, or has the message")(rounds(5000) { number =>
    val (server, client) = numbers.init()
    for {
      receiver <- start(attempt(receive(server)))
      _ <- until(Probe.waits(server))
      // Some are sent no message, so they always fail, and some always have theirs first.
      _ <- when(number % 10 == 4)(delay(client.send(7L)).flatMap(_ => awaited(receiver)))
      _ <- delay {
        if (number % 10 != 3 && number % 10 != 4) client.send(7L): Unit
        abandon(server)
      }
      outcome <- join(receiver)
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
  })

  test("a wait for space that is stopped sends nothing")(succeed {
    val (server, client) = numbers.init()
    val full = (1 to 255).foldLeft(client)((client, _) => client.send(0L))
    for {
      waiting <- start(send(full)(_.send(1L)))
      _ <- cede
      _ <- stop(waiting)
      outcome <- end(waiting)
      received <- receive(server)
    } yield {
      assert(isStopped(outcome))
      assertEquals(received.value, 0L)
      abandon(full)
    }
  })

  // ---- several endpoints

  test("a select takes the endpoint that is ready, and reports one that is closed by either side")(succeed {
    val (counter, counting) = numbers.init()
    val (teller, customer) = bank.init()
    for {
      waiting <- start(receive(Select(counter.on(_.value.toString), teller.on(_.username))))
      _ <- times(10)(cede)
      _ <- delay(customer.login("holk", "1234"))
      first <- join(waiting)
      more <- delay(counting.send(7L))
      second <- receive(Select(counter.on(message => delay(message)))).flatMap(effect => effect)
      closing <- start(closed(receive(Select(second.next.on(_.value)))))
      _ <- times(10)(cede)
      _ <- delay(abandon(more))
      peer <- join(closing)
      own = numbers.init()
      leaving <- start(closed(receive(Select(own._1.on(_.value)))))
      _ <- times(10)(cede)
      _ <- delay(abandon(own._1))
      left <- join(leaving)
      used <- attempt(receive(Select(teller.on(_.username))))
    } yield {
      assertEquals((first, second.value, peer.isByPeer, left.isByPeer), ("holk", 7L, true, false))
      assert(used.left.exists(_.isInstanceOf[EndpointUsed]))
    }
  })

  test("a set receives from many endpoints until all are closed")(succeed {
    val set = PortSet[numbers.Stream, Int]()
    val clients = (1 to 100).toList.map { name =>
      val (server, client) = numbers.init()
      set.add(server, name)
      client
    }
    def total(so: Long, closed: Int): F[(Long, Int)] =
      if (set.isEmpty) delay((so, closed))
      else
        receive(set).flatMap {
          case PortSet.Received(name, numbers.Stream.Send(value, next)) =>
            set.add(next, name)
            total(so + value, closed)
          case PortSet.Closed(_, _) => total(so, closed + 1)
        }
    for {
      counting <- start(total(0L, 0))
      sending <- all(clients)(client => start(sendAll(client, List.range(0L, 100L))((to, value: Long) => to.send(value)).map(abandon(_))))
      _ <- all(sending)(join(_))
      counted <- join(counting)
      empty <- attempt(receive(set))
    } yield {
      assertEquals(counted, (100 * 4950L, 100))
      assert(empty.left.exists(_.isInstanceOf[NoSuchElementException]))
    }
  })

  test("many fibers send with shared senders: nothing is lost, also if some are stopped while they wait")(succeed {
    val (server, client) = numbers.init()
    val sender = SharedSender(client)
    val sent = new AtomicInteger
    def sends(count: Int): F[Unit] = times(count)(masked(send(sender)(_.send(1L)))(_ => delay(sent.incrementAndGet(): Unit)))
    def sum(server: numbers.server.Stream, so: Long): F[Long] = attempt(receive(server)).flatMap {
      case Right(message) => sum(message.next, so + message.value)
      case Left(_)        => delay(so)
    }
    for {
      impatient <- all(List.fill(8)(300))(count => start(sends(count)))
      _ <- times(1000)(cede)
      _ <- all(impatient)(stop(_))
      reading <- start(sum(server, 0L))
      patient <- all(List.fill(8)(1000))(count => start(sends(count)))
      _ <- all(patient)(join(_))
      _ <- delay(sender.close())
      received <- join(reading)
      closed <- attempt(send(sender)(_.send(1L)))
    } yield {
      // A fiber that is stopped between the send and the count may have sent as well.
      assert(sent.get <= received && received <= sent.get + stray, (sent.get, received).toString)
      assert(sent.get >= 8000)
      assert(closed.left.exists(_.isInstanceOf[IllegalStateException]))
    }
  })

  // ---- streams

  private def values(message: numbers.Stream): (Long, Option[numbers.server.Stream]) = message match {
    case numbers.Stream.Send(value, next) => (value, Some(next))
  }

  test("a stream of values becomes a run of messages, and a run of messages a stream, whose end goes on")(succeed {
    type Word = (String, Long)
    def count(counting: word_count.server.Counting): F[Unit] =
      receiveAll(counting) {
        case word_count.Counting.Count(word, n, next) => (Right((word, n)): Either[word_count.server.Totals, Word], Some(next))
        case word_count.Counting.Done(totals)         => (Left(totals), None)
      }.flatMap { case (all, _) =>
        val totals = all.collect { case Right(word) => word }.groupMapReduce(_._1)(_._2)(_ + _).toList.sorted
        val end = all.collectFirst { case Left(end) => end }
        sendAll(end.get, totals)((to, total: Word) => to.total(total._1, total._2)).map(_.end())
      }
    withService(word_count.init())(count) { client =>
      val words = List.fill(5000)(List("the", "cat", "and", "the", "hat")).flatten
      for {
        told <- sendAll(client, words)((to, word: String) => to.count(word, 1L))
        totals <- delay(told.done())
        read <- receiveAll(totals) {
          case word_count.Totals.Total(word, n, next) => (Some((word, n)), Some(next))
          case word_count.Totals.End()                => (None, None)
        }
      } yield assertEquals(read._1.flatten, List(("and", 5000L), ("cat", 5000L), ("hat", 5000L), ("the", 10000L)))
    }
  })

  test("messages that have arrived together are one chunk, and a stream that is not read to its end closes its session")(succeed {
    val (server, client) = numbers.init()
    val last = (1 to 200).foldLeft(client)((client, value) => client.send(value.toLong))
    for {
      first <- receiveFirst(server)(values(_))
      refused <- closed(delay(last.send(0L)))
    } yield {
      assertEquals(first, List.range(1L, 201L))
      assert(refused.isByPeer)
    }
  })

  test("a stream fails when the peer closes the session, after everything that was sent")(succeed {
    val (server, client) = numbers.init()
    abandon(client.send(1L).send(2L))
    receiveAll(server)(values(_)).map {
      case (read, Some(closed: SessionClosed)) => assertEquals((read, closed.isByPeer), (List(1L, 2L), true))
      case other                               => fail(other.toString)
    }
  })

  test("a stream that fails while it is sent, or is stopped, closes its session")(succeed {
    val (reader, writer) = numbers.init()
    val (waiting, client) = numbers.init()
    val full = (1 to 255).foldLeft(client)((client, _) => client.send(0L))
    for {
      failed <- attempt(sendFailing(writer, List(1L, 2L), new ArithmeticException("no")))
      read <- receiveAll(reader)(values(_))
      sending <- start(sendAll(full, List(1L))((to, value: Long) => to.send(value)))
      _ <- until(Probe.waitsForSpace(full))
      _ <- stop(sending)
      left <- receiveAll(waiting)(values(_))
    } yield {
      assert(failed.left.exists(_.getMessage == "no"))
      assertEquals((read._1, left._1.size), (List(1L, 2L), 255))
      for (end <- List(read._2, left._2)) assert(end.exists { case closed: SessionClosed => closed.isByPeer; case _ => false })
    }
  })

  /** How many fibers of eight that are stopped may have sent a message that is not counted. */
  protected def stray: Int = 0
}
