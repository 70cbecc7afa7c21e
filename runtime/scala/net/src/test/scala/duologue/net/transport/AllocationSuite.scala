package duologue.net

import duologue.{Heap, abandon}
import protocols.{bank, smtp, smtpTypes}
import scala.annotation.tailrec

/** What a message costs the heap over sockets, on the side that sends and on the one that receives. */
final class AllocationSuite extends BankSuite {
  private val Rounds = 20000
  private val Recipient = "somebody@example.org"
  private val Lines = Vector("no such user here", "try another one")

  /** In bytes. With text and with a list, Java 17 and 25 take 272 and 488. */
  private val MostWithNumber = 300L
  private val MostWithText = 400L
  private val MostWithList = 700L

  /** How many bytes the calling thread allocates for each round, once it has done as many before. */
  private def each[T](start: T)(rounds: T => T): (T, Long) = {
    val warm = rounds(start)
    val before = Heap.total
    val end = rounds(warm)
    (end, (Heap.total - before) / Rounds)
  }

  @tailrec
  private def refuse(recipients: smtp.server.Recipients, rounds: Int): smtp.server.Recipients =
    if (rounds == 0) recipients
    else
      recipients.recv() match {
        case smtp.Recipients.RcptTo(_, next) => refuse(next.refused(new smtpTypes.Reply(550, Lines)), rounds - 1)
        case other                           => fail(other.toString)
      }

  @tailrec
  private def ask(recipients: smtp.client.Recipients, rounds: Int): smtp.client.Recipients =
    if (rounds == 0) recipients
    else
      recipients.rcptTo(Recipient).recv() match {
        case smtp.Recipient.Refused(_, next) => ask(next, rounds - 1)
        case other                           => fail(other.toString)
      }

  private def begun(client: smtp.client.Greeting): smtp.client.Recipients = {
    val hello = client.recv() match {
      case smtp.Greeting.Ready(_, hello) => hello
      case other                         => fail(other.toString)
    }
    val idle = hello.ehlo("client").recv() match {
      case smtp.Extensions.Extensions(_, idle) => idle
      case other                               => fail(other.toString)
    }
    idle.mailFrom("me@example.org").recv() match {
      case smtp.Sender.Ok(recipients) => recipients
      case other                      => fail(other.toString)
    }
  }

  private def serve(greeting: smtp.server.Greeting): smtp.server.Recipients = {
    val idle = greeting.ready("server").recv() match {
      case smtp.Hello.Ehlo(_, extensions) => extensions.extensions(Lines)
      case other                          => fail(other.toString)
    }
    idle.recv() match {
      case smtp.Idle.MailFrom(_, sender) => sender.ok()
      case other                         => fail(other.toString)
    }
  }

  test("text and lists cost the heap what they are, and a bounded amount for reading them") {
    val listener = Listener(freshAddress())
    val serving = spawn {
      val (recipients, bytes) = each(serve(listener.accept(smtp.server)))(refuse(_, Rounds))
      abandon(recipients)
      bytes
    }
    val (recipients, bytes) = each(begun(connect(smtp.client, listener.address)))(ask(_, Rounds))
    // Two endpoints, a message, what the selector of the Java library allocates for its waits, the text or the list with its texts, and
    // the builder of the list. What is sent is written without a copy on the heap.
    assert(bytes < MostWithList, bytes.toString)
    val received = await(serving)
    assert(received < MostWithText, received.toString)
    abandon(recipients)
    listener.close()
  }

  test("a message of a number costs the heap nothing but itself and its endpoints") {
    val listener = Listener(freshAddress()).serve(bank.server)(serveBank(_)).start()
    val (connected, bytes) = each(logIn(connect(bank.client, listener.address))) { start =>
      var connected = start
      for (amount <- 1 to Rounds) connected = withdraw(connected, amount.toDouble)
      connected
    }
    // Two endpoints, one message, and what the selector of the Java library allocates for each of its waits.
    assert(bytes < MostWithNumber, bytes.toString)
    connected.quit()
    listener.close()
  }
}
