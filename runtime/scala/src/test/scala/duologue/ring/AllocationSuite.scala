package duologue

import _root_.protocols.bank
import duologue.protocols.stream
import duologue.Heap.allocated

/** What sessions and messages cost the heap: a message costs itself and the endpoints that follow it on both sides. */
final class AllocationSuite extends RuntimeSuite {

  private val Messages = 20000

  /** Keeps the compiler from finding out that the objects are not needed. */
  @volatile var kept: AnyRef = this

  /** The size in bytes of one of the objects that `make` creates. */
  private def size(make: () => AnyRef): Long = {
    var i = 0
    val all = allocated {
      while (i < Messages) {
        kept = make()
        i += 1
      }
    }
    all / Messages
  }

  private def connected(): (bank.server.Connected, bank.client.Connected) = {
    val (server, client) = bank.init()
    val response = client.login("holk", "1234")
    val teller = server.recv().next.ok()
    response.recv() match {
      case bank.LoginResponse.Ok(next) => (teller, next)
      case other                       => fail(other.toString)
    }
  }

  test("a session begins with less than 1 KiB, whatever the longest run of its protocol") {
    // 0 means that there is none.
    for (capacity <- List(0, 1, 4, 1000)) {
      val bytes = size(() => stream.init[Int](capacity))
      assert(bytes > 512 && bytes < 1024, (capacity, bytes).toString)
    }
  }

  test("a message whose payload is a number is nothing but itself and its endpoints, in a run and in a dialogue") {
    val (server, client) = connected()
    val drawn = client.withdrawal(0.0)
    val endpoint = size(() => server.$at(0L))
    val message = size(() => bank.Connected.Deposit(1.0, server))
    assert(endpoint > 16 && message > 16)
    server.recv() match {
      case bank.Connected.Withdrawal(_, next) =>
        val teller = next.money(0.0)
        drawn.recv() match {
          case bank.WithdrawalResponse.Money(_, customer) => talk(teller, customer, 2 * endpoint + message)
          case other                                      => fail(other.toString)
        }
      case other => fail(other.toString)
    }
  }

  private def talk(server: bank.server.Connected, client: bank.client.Connected, each: Long): Unit = {
    var teller = server
    var customer = client
    def run(): Unit = {
      var i = 0
      while (i < Messages) {
        customer = customer.deposit(1000.0 + i)
        teller.recv() match {
          case bank.Connected.Deposit(_, next) => teller = next
          case other                           => fail(other.toString)
        }
        i += 1
        if (i % 20 == 0) {
          val waiting = customer.withdrawal(1.0)
          teller.recv() match {
            case bank.Connected.Withdrawal(amount, next) => teller = next.money(amount)
            case other                                   => fail(other.toString)
          }
          waiting.recv() match {
            case bank.WithdrawalResponse.Money(_, next) => customer = next
            case other                                  => fail(other.toString)
          }
        }
      }
    }
    // The first run also allocates what Java creates when code runs for the first time.
    run()
    val nothing = allocated(())
    val all = allocated(run()) - nothing
    // The local variables that the closure shares are objects, too. There are fewer than ten of them, whatever the number of
    // messages.
    val messages = Messages + Messages / 20 * 2
    assert(all <= messages * each + 300, (all, messages * each).toString)
    assert(all >= messages * each / 3, (all, messages * each).toString)
  }
}
