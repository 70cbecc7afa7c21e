package gateway.onzio

import duologue.{SessionClosed, SharedSender, abandon}
import duologue.interop.zio._
import gateway.{Accounts, Command, Log}
import protocols.{exchange, execution, holding, orders}
import protocols.ordersTypes.{Fill, Side}
import zio._
import zio.stream.ZStream

/** The session of a trader. An effect for a state takes its endpoint and returns the next one. */
final class Session(sender: SharedSender[exchange.client.Open], command: Command.Serve) {
  private val idleLimit = Duration.fromScala(command.idle)

  /** Serves a trader to the end, whatever it is: even if the fiber is interrupted, its side is closed. */
  def serve(start: orders.server.Start): UIO[Unit] =
    ZIO.interruptible(login(start)).catchAll(vanished("someone", _)).ensuring(ZIO.succeed(abandon(start)))

  private def log(line: String): UIO[Unit] = ZIO.succeed(Log(line))

  private def vanished(who: String, closed: SessionClosed): UIO[Unit] = log(s"$who has vanished: ${closed.why}")

  private def login(start: orders.server.Start): IO[SessionClosed, Unit] = start.receive.timeout(idleLimit).flatMap {
    case Some(orders.Start.Login(account, token, access)) if Accounts.admits(account, token) =>
      val trading = sendNow(access.granted()).flatMap(idle => trade(account, idle))
      log(s"$account has logged in") *> trading.catchAll(vanished(account, _))
    case Some(orders.Start.Login(account, _, access)) =>
      log(s"$account was denied") *> sendNow(access.denied("wrong account or token"))
    case None => log("someone is silent")
  }

  private def trade(account: String, idle: orders.server.Idle): IO[SessionClosed, Unit] = idle.receive.timeout(idleLimit).flatMap {
    case Some(orders.Idle.Place(symbol, side, quantity, limit, placed)) =>
      place(account, symbol, side, quantity, limit)(placed).flatMap(next => trade(account, next))
    case Some(orders.Idle.Position(symbol, next)) =>
      position(account, symbol).flatMap(quantity => sendNow(next.position(quantity))).flatMap(next => trade(account, next))
    case Some(orders.Idle.Logout) => log(s"$account has logged out")
    case None                     => log(s"$account is silent")
  }

  private def place(account: String, symbol: String, side: Side, quantity: Long, limit: Long)(
      placed: orders.server.Placed
  ): IO[SessionClosed, orders.server.Idle] = {
    val (report, pending) = execution.init()
    send(sender)(_.execute(account, symbol, side, quantity, limit, report)) *> pending.receive.flatMap {
      case execution.Pending.Refused(refusal)                         => sendNow(placed.refused(refusal))
      case execution.Pending.Executed(order, fills, rest, settlement) =>
        for {
          filling <- sendNow(placed.taken(order))
          // The sink sends as fast as the trader reads, and returns the endpoint to continue with.
          filling <- ZStream.fromIterable(fills).run(sendSink(filling)((filling, fill: Fill) => filling.fill(fill)))
          idle <- settlement match {
            case Some(job) if rest == 0 => send(filling)(_.completed(job))
            case _                      => send(filling)(_.expired(rest))
          }
        } yield idle
    }
  }

  private def position(account: String, symbol: String): IO[SessionClosed, Long] = {
    val (report, pending) = holding.init()
    send(sender)(_.inquire(account, symbol, report)) *> pending.receive.map { case holding.Pending.Quantity(quantity) => quantity }
  }
}
