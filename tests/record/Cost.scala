package cases

import protocols.bank

/** What a registry costs: nanoseconds for each message of a dialogue on one thread, the least of several runs. Start it without a property, with
  * `-Dduologue.registry=`, and with `-Dduologue.record=`.
  */
object RegistryCost {
  private val Dialogues = 1000

  private def talk(): Unit = {
    val (server, client) = bank.init()
    val waiting = client.login("", "")
    var serving = server.recv().next.ok()
    var customer = waiting.recv() match {
      case bank.LoginResponse.Ok(connected) => connected
      case bank.LoginResponse.Invalid(_)    => throw new AssertionError("the password is right")
    }
    for (_ <- 1 to Dialogues) {
      val answer = customer.withdrawal(1.0)
      serving.recv() match {
        case bank.Connected.Withdrawal(amount, next) => serving = next.money(amount)
        case other                                   => throw new AssertionError(other.toString)
      }
      answer.recv() match {
        case bank.WithdrawalResponse.Money(_, next)          => customer = next
        case bank.WithdrawalResponse.InsufficientFunds(next) => customer = next
      }
    }
    customer.quit()
    serving.recv(): Unit
  }

  def main(arguments: Array[String]): Unit = {
    var least = Long.MaxValue
    for (_ <- 1 to arguments.headOption.fold(2000)(_.toInt)) {
      val began = System.nanoTime()
      talk()
      least = math.min(least, System.nanoTime() - began)
    }
    println("%.1f ns for each message".format(least.toDouble / (2 * Dialogues + 3)))
  }
}
