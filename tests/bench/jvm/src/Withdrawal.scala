package duologue.bench

import duologue.net
import duologue.net.Listener
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.{Files, Path}
import protocols.bank

/** A withdrawal and its answer over a Unix socket, between two platform threads that block. */
object Withdrawal {
  def of(peer: String): Origin = if (peer == "duologue") new Ours else new Raw

  /** Makes withdrawals of all amounts below `count`, and checks what was paid out. */
  private sealed trait Exchanges extends Origin {
    def pay(amount: Double): Double

    def run(count: Int): Long = {
      var sum = 0.0
      var i = 0
      while (i < count) {
        sum += pay(i.toDouble)
        i += 1
      }
      if (sum != count * (count - 1) / 2.0) throw new AssertionError(sum)
      sum.toLong
    }
  }

  /** A socket in a folder of its own, which is removed when both sides are connected. */
  private def connected[A](connect: Path => A): A = {
    val folder = Files.createTempDirectory("duologue-bench")
    val path = folder.resolve("socket")
    try connect(path)
    finally {
      Files.deleteIfExists(path): Unit
      Files.delete(folder)
    }
  }

  private final class Ours extends Exchanges {
    private val (bankSide, customerSide) = connected { path =>
      val listener = Listener("unix:" + path.toString)
      try {
        var accepted: bank.server.Login = null
        val accepting = new Thread(() => accepted = listener.accept(bank.server))
        accepting.start()
        val customer = net.connect(bank.client, listener.address)
        accepting.join()
        (accepted, customer)
      } finally listener.close()
    }
    private var teller: bank.server.Connected = null
    private var customer: bank.client.Connected = {
      val waiting = customerSide.login("holk", "1234")
      val bank.Login.Login(_, _, answer) = bankSide.recv()
      teller = answer.ok()
      waiting.recv() match {
        case bank.LoginResponse.Ok(next)   => next
        case bank.LoginResponse.Invalid(_) => throw new AssertionError("the password is right")
      }
    }
    Beside.forever { () =>
      teller = teller.recv() match {
        case bank.Connected.Withdrawal(amount, answer)          => answer.money(amount)
        case bank.Connected.Deposit(_, _) | bank.Connected.Quit => throw new AssertionError("this is a withdrawal")
      }
    }

    def pay(amount: Double): Double = customer.withdrawal(amount).recv() match {
      case bank.WithdrawalResponse.Money(money, next) =>
        customer = next
        money
      case bank.WithdrawalResponse.InsufficientFunds(_) => throw new AssertionError("the bank has money")
    }
  }

  /** The same bytes, with the system calls that they need. */
  private final class Raw extends Exchanges {
    private val (left, right) = connected { path =>
      val listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
      try {
        val address = UnixDomainSocketAddress.of(path)
        listener.bind(address): Unit
        (SocketChannel.open(address), listener.accept())
      } finally listener.close()
    }
    private val own = new Frame(left)
    private val other = new Frame(right)
    Beside.forever { () =>
      val amount = other.read(2)
      other.write(1, amount)
    }

    def pay(amount: Double): Double = {
      own.write(2, amount)
      own.read(1)
    }
  }

  /** Frames of a tag and a number, in memory that the system can access. */
  private final class Frame(channel: SocketChannel) {
    private val out = ByteBuffer.allocateDirect(9).order(LITTLE_ENDIAN)
    private val in = ByteBuffer.allocateDirect(9).order(LITTLE_ENDIAN)

    def write(tag: Byte, number: Double): Unit = {
      out.clear().put(tag).putDouble(number).flip(): Unit
      while (out.hasRemaining) channel.write(out): Unit
    }

    def read(tag: Byte): Double = {
      in.clear(): Unit
      while (in.hasRemaining) if (channel.read(in) < 0) throw new AssertionError("the other side stays")
      in.flip(): Unit
      assert(in.get() == tag)
      in.getDouble()
    }
  }
}
