// error: value runtime_0_0 is not a member of object duologue.generated
package misuse.other_runtime

import protocols.bank

object Program {
  def run(client: bank.client.Login): Unit = {
    // The beginning of code that was generated for another version of the runtime.
    val start = duologue.generated.runtime_0_0.start("bank", 0, clientSpeaks = true) // wrong
    // right: val start = duologue.generated.runtime_0_1.start("bank", 0, clientSpeaks = true)
    duologue.abandon(start.client)
    duologue.abandon(client)
  }
}
