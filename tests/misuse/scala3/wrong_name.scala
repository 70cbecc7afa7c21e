// error: Required: acme.files.fileServerTypes.Path
package misuse.wrong_name

import acme.files.fileServerTypes.Path
import acme.files.file_server
import protocols.smtpTypes.Mailbox

object Program {
  def run(client: file_server.client.Idle, mailbox: Mailbox): file_server.client.Listing =
    client.list(mailbox) // wrong
    // right: client.list(Path(mailbox))
}
