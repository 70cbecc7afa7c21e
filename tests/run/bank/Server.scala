package cases.bank

import cases.Transcript
import cases.Transcript.{decimals, quoted}
import protocols.bank
import scala.annotation.tailrec

object Server {
  def run(endpoint: bank.server.Login, transcript: Transcript): Unit =
    serve(welcome(endpoint, transcript), 0.0, transcript)

  @tailrec
  private def welcome(endpoint: bank.server.Login, transcript: Transcript): bank.server.Connected = {
    val bank.Login.Login(username, password, next) = endpoint.recv()
    transcript.line("server <- login(" + quoted(username) + ", " + quoted(password) + ")")
    if (password == "1234") next.ok() else welcome(next.invalid(), transcript)
  }

  @tailrec
  private def serve(endpoint: bank.server.Connected, balance: Double, transcript: Transcript): Unit =
    endpoint.recv() match {
      case bank.Connected.Deposit(money, next) =>
        transcript.line("server <- deposit(" + decimals(money) + ")")
        serve(next, balance + money, transcript)
      case bank.Connected.Withdrawal(amount, next) =>
        transcript.line("server <- withdrawal(" + decimals(amount) + ")")
        if (amount <= balance) serve(next.money(amount), balance - amount, transcript)
        else serve(next.insufficientFunds(), balance, transcript)
      case bank.Connected.Quit => transcript.line("server <- quit")
    }
}
