package duologue.bench.nats

import duologue.SessionClosed
import duologue.bench.Beside
import duologue.net.{ConnectFailed, Refused}

/** What the cases with sessions share. */
private object Ends {

  /** How long the listener may take to subscribe, in nanoseconds. */
  private val Patience = 30000000000L

  /** Connects. The first attempts fail while the listener has not subscribed to the protocol. */
  def joined[A](connect: => A): A = {
    val deadline = System.nanoTime() + Patience
    var made = Option.empty[A]
    while (made.isEmpty)
      try made = Some(connect)
      catch {
        case _: (ConnectFailed | Refused) if System.nanoTime() < deadline => Thread.sleep(5L)
      }
    made.get
  }

  /** A thread that runs until the other side disconnects. */
  def forever(step: () => Unit): Unit = Beside.forever { () =>
    try step()
    catch { case _: SessionClosed => throw new InterruptedException }
  }
}
