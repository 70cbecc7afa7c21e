package gateway.oncats

import cats.effect.IO
import duologue.{SessionClosed, SharedSender, abandon}
import duologue.interop.cats._
import fs2.Stream
import gateway.{Accounts, Command, Log}
import protocols.{exchange, execution, holding, orders}
import protocols.ordersTypes.{Fill, Side}
import scala.concurrent.TimeoutException

/** The session of a trader. An effect for a state takes its endpoint and returns the next one. */
final class Session(sender: SharedSender[exchange.client.Open], command: Command.Serve) {

  /** Serves a trader to the end, whatever it is: even if the fiber is canceled, its side is closed. */
  def serve(start: orders.server.Start): IO[Unit] =
    login(start).recoverWith(ended("someone")).guarantee(IO(abandon(start)))

  private def log(line: String): IO[Unit] = IO(Log(line))

  private def ended(who: String): PartialFunction[Throwable, IO[Unit]] = {
    case closed: SessionClosed => log(s"$who has vanished: ${closed.why}")
    case _: TimeoutException   => log(s"$who is silent")
  }

  private def login(start: orders.server.Start): IO[Unit] = receive[IO](start).timeout(command.idle).flatMap {
    case orders.Start.Login(account, token, access) if Accounts.admits(account, token) =>
      val trading = IO(access.granted()).flatMap(idle => trade(account, idle))
      log(s"$account has logged in") *> trading.recoverWith(ended(account))
    case orders.Start.Login(account, _, access) =>
      log(s"$account was denied") *> IO(access.denied("wrong account or token"))
  }

  private def trade(account: String, idle: orders.server.Idle): IO[Unit] = receive[IO](idle).timeout(command.idle).flatMap {
    case orders.Idle.Place(symbol, side, quantity, limit, placed) =>
      place(account, symbol, side, quantity, limit)(placed).flatMap(next => trade(account, next))
    case orders.Idle.Position(symbol, next) =>
      position(account, symbol).flatMap(quantity => IO(next.position(quantity))).flatMap(next => trade(account, next))
    case orders.Idle.Logout => log(s"$account has logged out")
  }

  private def place(account: String, symbol: String, side: Side, quantity: Long, limit: Long)(
      placed: orders.server.Placed
  ): IO[orders.server.Idle] = IO(execution.init()).flatMap { case (report, pending) =>
    send[IO](sender)(_.execute(account, symbol, side, quantity, limit, report)) *> receive[IO](pending).flatMap {
      case execution.Pending.Refused(refusal)                         => IO(placed.refused(refusal))
      case execution.Pending.Executed(order, fills, rest, settlement) =>
        for {
          filling <- IO(placed.taken(order))
          // The pipe sends as fast as the trader reads, and its only value is the endpoint to continue with.
          sending = sendPipe[IO](filling)((filling, fill: Fill) => filling.fill(fill))
          filling <- Stream.emits(fills).through(sending).compile.lastOrError
          idle <- settlement match {
            case Some(job) if rest == 0 => send[IO](filling)(_.completed(job))
            case _                      => send[IO](filling)(_.expired(rest))
          }
        } yield idle
    }
  }

  private def position(account: String, symbol: String): IO[Long] = IO(holding.init()).flatMap { case (report, pending) =>
    send[IO](sender)(_.inquire(account, symbol, report)) *> receive[IO](pending).map { case holding.Pending.Quantity(quantity) => quantity }
  }
}
