package duologue.nats

import duologue.net.{Broker, BrokerConnector, Exchange, ExchangeOptions}
import io.nats.client.Options

/** Sessions over NATS. A program that uses addresses `nats://host:port/name` needs this module, but does not name it: `duologue.net` finds it. For
  * credentials, certificates and further servers, connect with [[exchange]] and use `connectThrough` and `Listener.through` of `duologue.net`.
  */
object Nats {

  /** Connects to a NATS server, `host:port`, with options of the client library: credentials, certificates, further servers. While the server is
    * gone, the client tries to reach it again, without end unless `configure` sets `maxReconnects`. Options that sessions need are set
    * after `configure`: the error listener, the executors, the limits of queues and buffers, and the delays between attempts to connect.
    *
    * {{{
    * val exchange = Nats.exchange("nats.example:4222", _.userInfo("teller", password), ExchangeOptions(prefix = Some("teller")))
    * }}}
    *
    * Throws `IOException` if the server cannot be reached, or rejects the connection, and `InterruptedException` if the thread is
    * interrupted first.
    */
  def exchange(
      server: String,
      configure: Options.Builder => Options.Builder = identity,
      options: ExchangeOptions = ExchangeOptions()
  ): Exchange = Exchange.over(NatsBroker.connect(server, configure, System.nanoTime() + Patience), options)

  /** How long connecting may take, in nanoseconds. */
  private val Patience = 5000000000L
}

/** Connects to the servers of addresses `nats://host:port/name`. */
final class NatsConnector extends BrokerConnector {
  def connect(server: String, deadline: Long): Broker = NatsBroker.connect(server, identity, deadline)
}
