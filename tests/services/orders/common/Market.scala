package gateway

import duologue.Bytes
import java.nio.charset.StandardCharsets.UTF_8
import protocols.ordersTypes.{Cents, Fill, Refusal, Side}

/** An order of a trader. */
final case class Order(account: String, symbol: String, side: Side, quantity: Long, limit: Cents)

/** What the market has done with an order: its number, what was executed, and the quantity that was not. */
final case class Execution(number: Long, order: Order, fills: Vector[Fill], rest: Long) {

  /** What the job queue is asked to settle. */
  def job: Bytes = {
    val side = order.side match {
      case Side.Buy  => "buys"
      case Side.Sell => "sells"
    }
    val quantity = fills.map(_.quantity).sum
    val amount = fills.map(fill => fill.quantity * fill.price).sum
    Bytes.copyOf(s"order $number: ${order.account} $side $quantity ${order.symbol} for $amount".getBytes(UTF_8))
  }
}

/** The book of one symbol: a market maker offers `size` at each price above the middle, and bids for `size` at each price below it, both
  * at `Depth` prices. The last price whose whole quantity was taken becomes the new middle, so the book is never empty.
  */
final case class Book(middle: Cents, step: Cents, size: Long) {

  /** The fills of an order, the quantity that is left, and the book afterwards. */
  def execute(side: Side, quantity: Long, limit: Cents): (Vector[Fill], Long, Book) = {
    val away = side match {
      case Side.Buy  => step
      case Side.Sell => -step
    }
    def isWithin(price: Cents): Boolean = price > 0 && (side match {
      case Side.Buy  => price <= limit
      case Side.Sell => price >= limit
    })
    val prices = Vector.tabulate(Book.Depth)(level => middle + away * (level + 1)).takeWhile(isWithin)
    val fills = prices.zipWithIndex.map { case (price, level) => Fill(math.min(size, math.max(0L, quantity - level * size)), price) }
    val executed = fills.filter(_.quantity > 0)
    val taken = executed.filter(_.quantity == size).lastOption
    (executed, quantity - executed.map(_.quantity).sum, taken.fold(this)(fill => copy(middle = fill.price)))
  }
}

object Book {
  val Depth = 8
}

/** The books of all symbols, and the positions of all accounts. It is a value: an order that cannot be settled is undone by
  * continuing with the market as it was.
  */
final case class Market(books: Map[String, Book], positions: Map[(String, String), Long], orders: Long, isOpen: Boolean) {

  /** Executes what the order's limit allows at once. The rest expires. */
  def execute(order: Order): Either[Refusal, (Execution, Market)] = books.get(order.symbol) match {
    case _ if !isOpen                            => Left(Refusal.MarketClosed)
    case None                                    => Left(Refusal.UnknownSymbol)
    case _ if order.quantity > Market.Largest    => Left(Refusal.TooLarge(Market.Largest))
    case Some(book) =>
      val (fills, rest, after) = book.execute(order.side, order.quantity, order.limit)
      val executed = order.quantity - rest
      val change = order.side match {
        case Side.Buy  => executed
        case Side.Sell => -executed
      }
      val held = position(order.account, order.symbol) + change
      val market = numbered.copy(
        books = books.updated(order.symbol, after),
        positions = positions.updated((order.account, order.symbol), held)
      )
      Right((Execution(market.orders, order, fills, rest), market))
  }

  /** The same market, with the next order number used up: no two orders have the same number, even if the first was undone. */
  def numbered: Market = copy(orders = orders + 1)

  def position(account: String, symbol: String): Long = positions.getOrElse((account, symbol), 0L)

  def closed: Market = copy(isOpen = false)
}

object Market {

  /** The largest quantity of an order. */
  val Largest = 1000L

  /** What is traded here. */
  val opening: Market = Market(
    Map("ACME" -> Book(10000L, 5L, 100L), "INITECH" -> Book(250L, 1L, 50L), "ODD" -> Book(777L, 7L, 1L)),
    Map.empty,
    0L,
    isOpen = true
  )
}
