package duologue.nats

import duologue.Role
import duologue.net.{ConnectFailed, ConnectOptions, Fingerprint, Listener, Refused}
import io.nats.client.{Connection, ErrorListener, Nats, Options}
import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import scala.concurrent.duration.FiniteDuration

/** A connection to NATS, with which servers are announced and found. The session between a server and a client runs over TCP or TLS, and does not
  * need NATS any longer.
  *
  * {{{
  * val directory = Directory("nats.example:4222")
  * val announcement = directory.announce(listener, bank.server, "bank", advertise = Some("tcp://10.0.0.7:7000"))
  * val login = directory.connect(bank.client, "bank")
  * }}}
  */
final class Directory private (private[nats] val connection: Connection, server: String) extends AutoCloseable {
  import Directory.{LongestAddress, MostSettling, Patience, problemOf, subjects}

  /** Announces a listener that serves or accepts this side of a protocol, under this name: letters, digits, `-`, `_`, and dots between them. One that
    * serves several protocols needs an announcement for each. While it is full or drains, clients get other servers. If the connection to
    * NATS is interrupted, the announcement comes back with it.
    *
    * Throws `IllegalArgumentException` if the name or the address cannot be announced, and [[DirectoryFailed]] if NATS does not permit it.
    *
    * @param accepts
    *   older protocols that the listener accepts, in addition to those that the protocol file names with `#[accepts(...)]`
    * @param advertise
    *   the address at which clients reach the listener, if it is not that of the listener. One at `0.0.0.0` or `[::]` needs it
    */
  def announce(
      listener: Listener,
      role: Role,
      name: String,
      accepts: Seq[Fingerprint] = Nil,
      advertise: Option[String] = None
  ): Announcement = {
    val address = advertise.getOrElse(listener.address)
    for (problem <- problemOf(address, listener.address))
      throw new IllegalArgumentException("cannot announce `" + address + "`: " + problem)
    val all = subjects(name, duologue.net.fingerprints(role, accepts))
    val announcement = Announcement.begin(this, listener, address.getBytes(UTF_8), all)
    try all.foreach(settle)
    catch {
      case thrown: Throwable =>
        announcement.close()
        throw thrown
    }
    announcement
  }

  /** Begins a session with one of the servers of this name, and returns this side's first endpoint. The certificate of a server is checked for the
    * name.
    *
    * Throws [[DirectoryFailed]] if there is no server or NATS cannot be reached, otherwise as `connect` of `duologue.net`.
    */
  def connect(role: Role, name: String, options: ConnectOptions = ConnectOptions()): role.$First = {
    val deadline = System.nanoTime() + options.timeout.toNanos
    val all = subjects(name, duologue.net.fingerprints(role, options.accepts))
    var excluded = Set.empty[String]
    var failure = Option.empty[IOException]
    var begun = Option.empty[role.$First]
    while (begun.isEmpty) {
      val address = find(name, all, excluded, deadline).getOrElse(throw failure.getOrElse(new AllBusy(name)))
      // One that does not answer leaves time for others.
      val left = FiniteDuration(math.max(1L, (deadline - System.nanoTime()) / 2L), "ns")
      try begun = Some(duologue.net.connect(role, address, options.copy(timeout = left, service = Some(name))))
      catch {
        // It will not answer while it is full or drains.
        case refused: Refused if refused.verdict == 18 || refused.verdict == 20 => failure = Some(refused)
        case failed: ConnectFailed =>
          excluded += address
          failure = Some(failed)
      }
    }
    begun.get
  }

  /** Ends the announcements, and closes the connection. Sessions continue. */
  override def close(): Unit = connection.close()

  override def toString: String = "Directory(" + server + ")"

  /** Asks the servers of each subject in turn, until one answers with an address that is not excluded. None: there are some, and none answers in
    * time.
    */
  private def find(name: String, subjects: Seq[String], excluded: Set[String], deadline: Long): Option[String] = reaching {
    val inbox = connection.createInbox()
    val answers = connection.subscribe(inbox)
    try {
      var found = Option.empty[String]
      var isOver = false
      while (found.isEmpty && !isOver) {
        var isNothing = true
        val each = subjects.iterator
        while (found.isEmpty && each.hasNext) {
          val subject = each.next()
          connection.publish(subject, inbox, Array.emptyByteArray)
          val until = math.min(System.nanoTime() + Patience, deadline)
          var isAsked = false
          while (found.isEmpty && !isAsked) {
            val left = until - System.nanoTime()
            val answer = if (left <= 0L) null else answers.nextMessage(Duration.ofNanos(left))
            if (answer == null) {
              // NATS does not answer either if it does not permit the request, or cannot be reached.
              settle(subject)
              isNothing = false
              isAsked = true
            } else if (answer.isStatusMessage) isAsked = answer.getStatus.isNoResponders
            else {
              val text = new String(answer.getData.take(LongestAddress), UTF_8)
              val isAddress = text.startsWith("tcp://") || text.startsWith("tls://")
              if (isAddress && !excluded.contains(text)) found = Some(text)
            }
          }
        }
        if (found.isEmpty && isNothing) throw new NoServers(name, subjects)
        isOver = System.nanoTime() - deadline >= 0L
      }
      found
    } finally answers.unsubscribe()
  }

  /** Waits until the NATS server has handled what was sent before, and throws if it does not permit this subject. */
  private def settle(subject: String): Unit = reaching {
    connection.flush(MostSettling)
    val report = String.valueOf(connection.getLastError)
    if (report.contains("\"" + subject + "\"")) throw new NotPermitted(server, report)
  }

  private[nats] def reaching[T](use: => T): T =
    try use
    catch {
      case failed: DirectoryFailed                 => throw failed
      case closed: IllegalStateException           => throw new Unreachable(server, closed)
      case late: java.util.concurrent.TimeoutException => throw new Unreachable(server, late)
    }
}

object Directory {

  /** How long servers have to answer before a client asks those of the next protocol, or again; in nanoseconds. */
  private val Patience = 250000000L
  private val MostSettling = Duration.ofSeconds(2)

  /** How long the client library waits before it connects again. */
  private val Pause = Duration.ofMillis(250)

  /** No address is longer. */
  private val LongestAddress = 300
  private val MostName = 128
  private val Name = """[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*""".r

  /** Connects to a NATS server, `host:port`. `configure` adds to the options of the client library: credentials, certificates and others. If the
    * connection is interrupted, the library connects again. Throws [[DirectoryFailed]] if the server cannot be reached or does not accept the connection.
    */
  def apply(server: String, configure: Options.Builder => Options.Builder = identity): Directory = {
    val base = new Options.Builder()
      .server("nats://" + server)
      .maxReconnects(-1)
      .reconnectDelayHandler(_ => Pause)
      // Without it the library prints errors, such as what is not permitted.
      .errorListener(new ErrorListener {})
    try new Directory(Nats.connect(configure(base).build()), server)
    catch { case failed: IOException => throw new Unreachable(server, failed) }
  }

  /** The subjects of the servers of a name that understand these protocols. */
  private def subjects(name: String, fingerprints: Seq[Fingerprint]): Seq[String] = {
    if (name.length > MostName || !Name.pattern.matcher(name).matches())
      throw new IllegalArgumentException(
        "`" + name + "` is not the name of a service: a name has at most 128 letters, digits, `-`, `_`, and dots between them"
      )
    fingerprints.map(fingerprint => "duologue." + name + "." + fingerprint.toString)
  }

  /** What is wrong with an address for clients. */
  private def problemOf(address: String, own: String): Option[String] = {
    val schemes = Seq("tcp://", "tls://")
    def isEverywhere = Seq("0.0.0.0:", "[::]:", "[0:0:0:0:0:0:0:0]:").exists(host => schemes.exists(scheme => address.startsWith(scheme + host)))
    if (!schemes.exists(own.startsWith(_))) Some("only listeners over TCP and TLS can be announced")
    else if (address.take(6) != own.take(6)) Some("the listener is not at an address of this kind")
    else if (address.length > LongestAddress) Some("it is too long")
    else if (isEverywhere) Some("clients on other machines cannot connect to it: set `advertise` to an address that they reach")
    else None
  }
}
