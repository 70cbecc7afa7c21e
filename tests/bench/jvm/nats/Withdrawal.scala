package duologue.bench.nats

import duologue.bench.Beside
import duologue.nats.Nats
import duologue.net.{connectThrough, Listener}
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.time.Duration
import java.util.concurrent.TimeUnit
import org.openjdk.jmh.annotations.*
import protocols.bank

/** A withdrawal and its answer over a NATS server, between two platform threads that wait for each other. Each side has a connection of its own. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class Withdrawal {
  @Param(Array("publish and subscribe of jnats", "duologue", "request of jnats"))
  var peer: String = scala.compiletime.uninitialized

  private var exchanges: Withdrawal.Exchanges = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = exchanges = peer match {
    case "duologue"         => new Withdrawal.Ours
    case "request of jnats" => new Withdrawal.Request
    case _                  => new Withdrawal.Published
  }

  @Benchmark
  @OperationsPerInvocation(Withdrawal.Count)
  def withdrawal(): Double = {
    val sum = exchanges.run()
    assert(sum == Withdrawal.Sum, sum)
    sum
  }

  @TearDown
  def end(): Unit = exchanges.end()
}

object Withdrawal {
  final val Count = 200
  final val Sum = Count * (Count - 1) / 2.0

  /** How long a message of a session is that has a number: its counts, its position and the number. */
  private val Length = 16

  /** How long a message may take on a busy machine. */
  private val Long = Duration.ofSeconds(60L)

  private def message(number: Double): Array[Byte] = ByteBuffer.allocate(Length).order(LITTLE_ENDIAN).putDouble(Length - 8, number).array

  private def number(message: Array[Byte]): Double = ByteBuffer.wrap(message).order(LITTLE_ENDIAN).getDouble(Length - 8)

  /** Makes `Count` withdrawals, one after the other, and returns the sum of what was paid out. */
  trait Exchanges {
    def ask(amount: Double): Double
    def end(): Unit

    def run(): Double = {
      var sum = 0.0
      var i = 0
      while (i < Count) {
        sum += ask(i.toDouble)
        i += 1
      }
      sum
    }
  }

  private final class Ours extends Exchanges {
    private val exchanges = Vector.fill(2)(Nats.exchange(Main.address))
    private var (teller, customer) = {
      val listener = Listener.through(exchanges(1), "bench")
      try {
        var accepted: bank.server.Login = null
        val accepting = new Thread(() => accepted = listener.accept(bank.server))
        accepting.start()
        val client = Ends.joined(connectThrough(bank.client, exchanges(0), "bench"))
        accepting.join()
        val waiting = client.login("holk", "1234")
        val bank.Login.Login(_, _, answer) = accepted.recv()
        val teller = answer.ok()
        waiting.recv() match {
          case bank.LoginResponse.Ok(next)   => (teller, next)
          case bank.LoginResponse.Invalid(_) => throw new AssertionError("the password is right")
        }
      } finally listener.close()
    }
    Ends.forever { () =>
      teller = teller.recv() match {
        case bank.Connected.Withdrawal(amount, answer)          => answer.money(amount)
        case bank.Connected.Deposit(_, _) | bank.Connected.Quit => throw new InterruptedException
      }
    }

    def ask(amount: Double): Double = customer.withdrawal(amount).recv() match {
      case bank.WithdrawalResponse.Money(money, next) =>
        customer = next
        money
      case bank.WithdrawalResponse.InsufficientFunds(_) => throw new AssertionError("the bank has money")
    }

    def end(): Unit = {
      customer.quit()
      exchanges.foreach(_.close())
    }
  }

  /** A customer of the library alone, and the thread that answers. */
  private abstract class OfLibrary extends Exchanges {
    protected val own = Main.connection()
    private val other = Main.connection()
    protected val teller = Main.newSubject()
    private val requests = other.subscribe(teller)
    other.flush(Long)
    Beside.forever { () =>
      val request = requests.nextMessage(Long)
      if (request != null) other.publish(request.getReplyTo, message(number(request.getData)))
    }

    def end(): Unit = {
      requests.unsubscribe()
      own.close()
      other.close()
    }
  }

  private final class Published extends OfLibrary {
    private val here = Main.newSubject()
    private val answers = own.subscribe(here)

    def ask(amount: Double): Double = {
      own.publish(teller, here, message(amount))
      number(answers.nextMessage(Long).getData)
    }
  }

  private final class Request extends OfLibrary {
    def ask(amount: Double): Double = number(own.request(teller, message(amount), Long).getData)
  }
}
