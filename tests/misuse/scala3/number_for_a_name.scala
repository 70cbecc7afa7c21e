// error: Required: protocols.bankTypes.Money
package misuse.number_for_a_name

import protocols.bank
import protocols.bankTypes.Money

object Program {
  def pay(client: bank.client.Connected, amount: Money): bank.client.Connected = {
    val next = client.deposit(amount)
    next.deposit(100.0) // wrong
    // right: next.deposit(Money(100.0))
  }
}
