package duologue.bench

import duologue.bench.talks.bank

/** A session from its creation to its end, both sides in one thread: login, ok, deposit, withdrawal, money, quit. */
object Bank {
  def of(peer: String): Origin = if (peer == "duologue") new Ours else new Channels(peer)

  private sealed trait Sessions extends Origin {

    /** The amount that was paid out. */
    def session(amount: Long): Long

    def run(count: Int): Long = {
      var sum = 0L
      var i = 0
      while (i < count) {
        sum += session(100L)
        i += 1
      }
      if (sum != 100L * count) throw new AssertionError(sum)
      sum
    }
  }

  private final class Ours extends Sessions {
    def session(amount: Long): Long = {
      val (server, client) = bank.init()
      val waiting = client.login(amount, 1234L)
      val teller = server.recv().next.ok()
      waiting.recv() match {
        case bank.LoginResponse.Ok(connected) =>
          val drawing = connected.deposit(amount).withdrawal(amount)
          val paid = serve(teller, 0L)
          drawing.recv() match {
            case bank.WithdrawalResponse.Money(money, next) =>
              next.quit()
              serve(paid, 0L): Unit
              money
            case bank.WithdrawalResponse.InsufficientFunds(_) => -1L
          }
        case bank.LoginResponse.Invalid(_) => -1L
      }
    }

    /** Until the answer, or the end. */
    @scala.annotation.tailrec
    private def serve(teller: bank.server.Connected, balance: Long): bank.server.Connected = teller.recv() match {
      case bank.Connected.Deposit(amount, next)    => serve(next, balance + amount)
      case bank.Connected.Withdrawal(amount, next) => next.money(math.min(balance, amount))
      case bank.Connected.Quit                     => teller
    }
  }

  private sealed trait Said
  private final case class Login(username: Long, password: Long) extends Said
  private case object Ok extends Said
  private final case class Deposit(amount: Long) extends Said
  private final case class Withdrawal(amount: Long) extends Said
  private final case class Money(amount: Long) extends Said
  private case object Quit extends Said

  /** The same messages through a pair of channels, whose types do not determine the order of messages. */
  private final class Channels(peer: String) extends Sessions {
    def session(amount: Long): Long = {
      val there = Link.of[Said](peer)
      val back = Link.of[Said](peer)
      there.put(Login(amount, 1234L))
      there.take() match {
        case Login(_, _) => back.put(Ok)
        case other       => unexpected(other)
      }
      back.take() match {
        case Ok =>
          there.put(Deposit(amount))
          there.put(Withdrawal(amount))
        case other => unexpected(other)
      }
      serve(there, back, 0L)
      back.take() match {
        case Money(money) =>
          there.put(Quit)
          serve(there, back, 0L)
          money
        case other => unexpected(other)
      }
    }

    @scala.annotation.tailrec
    private def serve(there: Link[Said], back: Link[Said], balance: Long): Unit = there.take() match {
      case Deposit(amount)    => serve(there, back, balance + amount)
      case Withdrawal(amount) => back.put(Money(math.min(balance, amount)))
      case Quit               => ()
      case other              => unexpected(other)
    }

    private def unexpected(said: Said): Nothing = throw new AssertionError(said)
  }
}
