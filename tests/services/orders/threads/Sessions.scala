package gateway.onthreads

import duologue.{SessionClosed, SharedSender, abandon}
import gateway.{Accounts, Command, Log}
import java.util.concurrent.ConcurrentHashMap
import protocols.{exchange, execution, holding, orders}
import protocols.ordersTypes.Side
import scala.util.Using

/** The sessions of all traders: each has a thread, and a sender to the desk of its own. */
final class Sessions(sender: SharedSender[exchange.client.Open], command: Command.Serve) {
  private val threads = new ConcurrentHashMap[orders.server.Start, Thread]

  def begin(start: orders.server.Start): Unit = {
    val own = sender.share()
    val thread = threads.computeIfAbsent(start, _ => Threads.start(Using.resource(own)(own => new Session(own, command).serve(start))))
    // Threads that have ended are removed when the next session begins.
    val _ = threads.values.removeIf(other => (other ne thread) && !other.isAlive)
  }

  /** Ends the sessions that are left. A thread that waits in one of them gets `SessionClosed`. */
  def close(): Unit = {
    threads.keySet.forEach(start => abandon(start))
    threads.values.forEach(_.join())
  }
}

/** The session of one trader. A method for a state takes its endpoint and returns the next one, so it cannot forget an answer. */
private final class Session(sender: SharedSender[exchange.client.Open], command: Command.Serve) {

  /** Serves a trader to the end, whatever it is. */
  def serve(start: orders.server.Start): Unit = Using.resource(start) { start =>
    start.recvWithinOrClosed(command.idle) match {
      case Right(Some(orders.Start.Login(account, token, access))) if Accounts.admits(account, token) =>
        Log(s"$account has logged in")
        try trade(account, access.granted())
        catch { case closed: SessionClosed => Log(s"$account has vanished: ${closed.why}") }
      case Right(Some(orders.Start.Login(account, _, access))) =>
        Log(s"$account was denied")
        val _ = duologue.sendOrClosed(access)(_.denied("wrong account or token"))
      case Right(None)  => Log("someone is silent")
      case Left(closed) => Log(s"someone has vanished: ${closed.why}")
    }
  }

  @scala.annotation.tailrec
  private def trade(account: String, idle: orders.server.Idle): Unit = idle.recvWithin(command.idle) match {
    case Some(orders.Idle.Place(symbol, side, quantity, limit, placed)) =>
      trade(account, place(account, symbol, side, quantity, limit)(placed))
    case Some(orders.Idle.Position(symbol, next)) => trade(account, next.position(position(account, symbol)))
    case Some(orders.Idle.Logout)                 => Log(s"$account has logged out")
    case None                                     => Log(s"$account is silent")
  }

  private def place(account: String, symbol: String, side: Side, quantity: Long, limit: Long)(
      placed: orders.server.Placed
  ): orders.server.Idle = {
    val (report, pending) = execution.init()
    sender.send(_.execute(account, symbol, side, quantity, limit, report))
    pending.recv() match {
      case execution.Pending.Refused(refusal)                         => placed.refused(refusal)
      case execution.Pending.Executed(order, fills, rest, settlement) =>
        val filling = fills.foldLeft(placed.taken(order))((filling, fill) => filling.fill(fill))
        settlement match {
          case Some(job) if rest == 0 => filling.completed(job)
          case _                      => filling.expired(rest)
        }
    }
  }

  private def position(account: String, symbol: String): Long = {
    val (report, pending) = holding.init()
    sender.send(_.inquire(account, symbol, report))
    val holding.Pending.Quantity(quantity) = pending.recv()
    quantity
  }
}
