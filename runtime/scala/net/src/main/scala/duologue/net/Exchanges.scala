package duologue.net

import java.io.IOException
import java.util.ServiceLoader
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.locks.ReentrantLock
import java.util.concurrent.TimeUnit.NANOSECONDS

/** The connections of this process to NATS servers, which all sessions with addresses of one server share. */
private[net] object Exchanges {

  /** The connection to one server. The lock is held while a thread connects, so that there is one connection, and connections to other
    * servers do not wait.
    */
  private final class Slot {
    val lock = new ReentrantLock
    var exchange: Exchange = null
  }

  private val slots = new ConcurrentHashMap[String, Slot]

  /** How many servers are remembered whose connections are closed. */
  private val Most = 64

  /** The connection to a server, `host:port`. The caller has to release it. */
  def of(server: String, deadline: Long): Exchange = {
    if (slots.size > Most) clean()
    val slot = slots.computeIfAbsent(server, _ => new Slot)
    if (!slot.lock.tryLock(deadline - System.nanoTime(), NANOSECONDS)) throw Dialogue.late()
    try {
      val known = slot.exchange
      if (known != null && known.retain()) known
      else {
        val exchange = Exchange.until(connector().connect(server, deadline), ExchangeOptions(), deadline, isKept = true)
        exchange.retain(): Unit
        // Another thread may have forgotten the slot meanwhile; then there are two connections for a while.
        slot.exchange = exchange
        exchange
      }
    } finally slot.lock.unlock()
  }

  private def clean(): Unit = slots.values.removeIf { slot =>
    slot.lock.tryLock() && (
      try slot.exchange == null || slot.exchange.isLost
      finally slot.lock.unlock()
    )
  }: Unit

  private def connector(): BrokerConnector = {
    val found = ServiceLoader.load(classOf[BrokerConnector], classOf[BrokerConnector].getClassLoader).iterator
    if (found.hasNext) found.next()
    else throw new IOException("addresses nats:// need the module `duologue-nats`: add it to the dependencies")
  }
}
