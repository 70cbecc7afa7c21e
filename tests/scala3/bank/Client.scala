package cases.bank

import cases.Transcript
import cases.Transcript.{decimals, unexpected}
import protocols.bank
import protocols.bankTypes.Money

/** The client of `tests/run/bank`. */
object Client:
  def run(endpoint: bank.client.Login, transcript: Transcript): Unit =
    val again = endpoint.login("holk", "wrong").recv() match
      case bank.LoginResponse.Invalid(next) =>
        transcript.line("client <- invalid")
        next
      case other => unexpected(other)
    val connected = again.login("holk", "1234").recv() match
      case bank.LoginResponse.Ok(next) =>
        transcript.line("client <- ok")
        next
      case other => unexpected(other)
    val richer = connected.deposit(Money(100.0)).withdrawal(Money(30.0)).recv() match
      case bank.WithdrawalResponse.Money(amount, next) =>
        transcript.line("client <- money(" + decimals(amount) + ")")
        next
      case other => unexpected(other)
    richer.withdrawal(Money(500.0)).recv() match
      case bank.WithdrawalResponse.InsufficientFunds(next) =>
        transcript.line("client <- insufficient_funds")
        next.quit()
      case other => unexpected(other)
