package gateway

import duologue.{SessionClosed, abandon, net}
import java.io.IOException
import protocols.orders
import protocols.ordersTypes.{Refusal, Side}

/** A trader that executes lines, and prints what happens:
  *
  * {{{
  * login ACCOUNT TOKEN
  * buy SYMBOL QUANTITY LIMIT
  * sell SYMBOL QUANTITY LIMIT
  * position SYMBOL
  * vanish
  * vanish buy SYMBOL QUANTITY LIMIT
  * logout
  * }}}
  *
  * `vanish` leaves without logging out, in its second form just after an order. Between two lines the trader has an endpoint of the
  * state `idle`, or no session.
  */
final class Trader(address: String) {
  private type Idle = Option[orders.client.Idle]

  def run(lines: Iterator[String]): Unit = {
    val last = lines.foldLeft[Idle](None)((idle, line) => act(idle, line.trim.split(" +").toList))
    last.foreach(idle => abandon(idle))
  }

  private def act(idle: Idle, words: List[String]): Idle =
    try
      (idle, words) match {
        case (None, List("login", account, token))         => login(account, token)
        case (Some(idle), List("position", symbol))        => Some(position(idle, symbol))
        case (Some(idle), List("logout"))                  => logout(idle)
        case (Some(idle), List("vanish"))                  => vanish(idle)
        case (Some(idle), "vanish" :: Trader.Place(place)) => vanish(place(idle))
        case (Some(idle), Trader.Place(place))             => Some(placed(place(idle)))
        case _                                             =>
          Say(s"not possible now: ${words.mkString(" ")}")
          idle
      }
    catch {
      case _: SessionClosed =>
        Say("the gateway has closed the session")
        None
    }

  private def login(account: String, token: String): Idle =
    try
      net.connect(orders.client, address).login(account, token).recv() match {
        case orders.Access.Granted(idle) =>
          Say("logged in")
          Some(idle)
        case orders.Access.Denied(reason) =>
          Say(s"denied: $reason")
          None
      }
    catch {
      case failed: IOException =>
        Say(failed match {
          case refused: net.Refused => "no session: " + refused.getMessage.stripPrefix(s"no session at $address: ")
          case _                    => "no session: the gateway is not there"
        })
        None
    }

  private def position(idle: orders.client.Idle, symbol: String): orders.client.Idle = {
    val orders.Position.Position(quantity, next) = idle.position(symbol).recv()
    Say(s"position: $quantity $symbol")
    next
  }

  private def placed(placed: orders.client.Placed): orders.client.Idle = placed.recv() match {
    case orders.Placed.Taken(order, filling) =>
      Say(s"order $order")
      filled(filling)
    case orders.Placed.Refused(refusal, idle) =>
      Say("refused: " + (refusal match {
        case Refusal.UnknownSymbol     => "unknown symbol"
        case Refusal.TooLarge(largest) => s"more than $largest"
        case Refusal.MarketClosed      => "market closed"
      }))
      idle
  }

  @scala.annotation.tailrec
  private def filled(filling: orders.client.Filling): orders.client.Idle = filling.recv() match {
    case orders.Filling.Fill(fill, next) =>
      Say(s"${fill.quantity} at ${fill.price}")
      filled(next)
    case orders.Filling.Completed(settlement, idle) =>
      Say(s"completed, settled by job $settlement")
      idle
    case orders.Filling.Expired(rest, idle) =>
      Say(s"expired with $rest left")
      idle
  }

  private def logout(idle: orders.client.Idle): Idle = {
    idle.logout()
    Say("logged out")
    None
  }

  private def vanish(endpoint: duologue.Endpoint): Idle = {
    abandon(endpoint)
    Say("vanished")
    None
  }
}

object Trader {

  /** Reads an order, and returns how to place it. */
  private object Place {
    def unapply(words: List[String]): Option[orders.client.Idle => orders.client.Placed] = words match {
      case List(side, symbol, quantity, limit) =>
        for {
          side <- List("buy" -> (Side.Buy: Side), "sell" -> (Side.Sell: Side)).collectFirst { case (`side`, known) => known }
          quantity <- quantity.toLongOption.filter(quantity => quantity >= 0 && quantity <= 0xffffffffL)
          limit <- limit.toLongOption
        } yield _.place(symbol, side, quantity, limit)
      case _ => None
    }
  }

  /** The lines of the command, or else those of standard input. */
  def run(trade: Command.Trade): Unit =
    new Trader(trade.address).run(if (trade.lines.isEmpty) scala.io.Source.stdin.getLines() else trade.lines.iterator)
}
