package duologue.protocols

/** The bank of the README without its types, written by hand in the form of generated code. */
object bank {

  def init(): (server.Login, client.Login) = {
    val start = _root_.duologue.generated.runtime_0_1.start("bank", 0, clientSpeaks = true)
    (new server.Login(start.server), new client.Login(start.client))
  }

  sealed trait Login
  object Login {
    final case class Login(username: String, password: String, next: server.LoginResponse) extends bank.Login
  }

  sealed trait LoginResponse
  object LoginResponse {
    final case class Ok(next: client.Connected) extends bank.LoginResponse
    final case class Invalid(next: client.Login) extends bank.LoginResponse
  }

  sealed trait Connected
  object Connected {
    final case class Deposit(money: Double, next: server.Connected) extends bank.Connected
    final case class Withdrawal(amount: Double, next: server.WithdrawalResponse) extends bank.Connected
    case object Quit extends bank.Connected
  }

  sealed trait WithdrawalResponse
  object WithdrawalResponse {
    final case class Money(money: Double, next: client.Connected) extends bank.WithdrawalResponse
    final case class InsufficientFunds(next: client.Connected) extends bank.WithdrawalResponse
  }

  object client {
    final class Login private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.SendEndpoint(previous) {
      def $state(): String = "login"
      def login(username: String, password: String): LoginResponse = {
        _root_.duologue.generated.turn(this, 0, (username, password))
        new LoginResponse(this)
      }
    }

    final class LoginResponse private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.RecvEndpoint[bank.LoginResponse](previous) {
      def $state(): String = "login_response"
      protected def open(index: Int, payload: Any, number: Long): bank.LoginResponse = index match {
        case 0 => bank.LoginResponse.Ok(new Connected(this))
        case 1 => bank.LoginResponse.Invalid(new Login(this))
        case _ => _root_.duologue.generated.unknown(index)
      }
    }

    final class Connected private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.SendEndpoint(previous) {
      def $state(): String = "connected"
      def deposit(money: Double): Connected = {
        _root_.duologue.generated.stayNumber(this, 0, _root_.java.lang.Double.doubleToRawLongBits(money))
        new Connected(this)
      }
      def withdrawal(amount: Double): WithdrawalResponse = {
        _root_.duologue.generated.turnNumber(this, 1, _root_.java.lang.Double.doubleToRawLongBits(amount))
        new WithdrawalResponse(this)
      }
      def quit(): Unit = _root_.duologue.generated.end(this, 2, null)
    }

    final class WithdrawalResponse private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.RecvEndpoint[bank.WithdrawalResponse](previous) {
      def $state(): String = "withdrawal_response"
      protected def open(index: Int, payload: Any, number: Long): bank.WithdrawalResponse = index match {
        case 0 => bank.WithdrawalResponse.Money(_root_.java.lang.Double.longBitsToDouble(number), new Connected(this))
        case 1 => bank.WithdrawalResponse.InsufficientFunds(new Connected(this))
        case _ => _root_.duologue.generated.unknown(index)
      }
    }
  }

  object server {
    final class Login private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.RecvEndpoint[bank.Login.Login](previous) {
      def $state(): String = "login"
      protected def open(index: Int, payload: Any, number: Long): bank.Login.Login = index match {
        case 0 =>
          val values = payload.asInstanceOf[(String, String)]
          bank.Login.Login(values._1, values._2, new LoginResponse(this))
        case _ => _root_.duologue.generated.unknown(index)
      }
    }

    final class LoginResponse private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.SendEndpoint(previous) {
      def $state(): String = "login_response"
      def ok(): Connected = {
        _root_.duologue.generated.turn(this, 0, null)
        new Connected(this)
      }
      def invalid(): Login = {
        _root_.duologue.generated.turn(this, 1, null)
        new Login(this)
      }
    }

    final class Connected private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.RecvEndpoint[bank.Connected](previous) {
      def $state(): String = "connected"
      protected def open(index: Int, payload: Any, number: Long): bank.Connected = index match {
        case 0 => bank.Connected.Deposit(_root_.java.lang.Double.longBitsToDouble(number), new Connected(this))
        case 1 => bank.Connected.Withdrawal(_root_.java.lang.Double.longBitsToDouble(number), new WithdrawalResponse(this))
        case 2 => bank.Connected.Quit
        case _ => _root_.duologue.generated.unknown(index)
      }
    }

    final class WithdrawalResponse private[bank] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.SendEndpoint(previous) {
      def $state(): String = "withdrawal_response"
      def money(money: Double): Connected = {
        _root_.duologue.generated.turnNumber(this, 0, _root_.java.lang.Double.doubleToRawLongBits(money))
        new Connected(this)
      }
      def insufficientFunds(): Connected = {
        _root_.duologue.generated.turn(this, 1, null)
        new Connected(this)
      }
    }
  }
}
