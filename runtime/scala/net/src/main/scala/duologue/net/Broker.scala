package duologue.net

import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** A connection to a message broker, such as NATS: it delivers messages to the subscriptions of their subjects, at most once each. What one
  * connection publishes to one subject arrives in order. [[Exchange.over]] has sessions over it.
  *
  * If it does not keep these promises, sessions are lost, but no session gets a message twice or out of order.
  */
trait Broker extends AutoCloseable {

  /** Publishes a message. `reply` is passed on with it. Neither waits nor calls an [[Inbox]]: the caller may hold locks. A message that
    * cannot be published is dropped. While the broker cannot be reached, messages should be kept, in order. How many there can be is
    * limited by the credit of the sessions, if [[isConnected]] returns false then.
    */
  def publish(subject: String, reply: Option[String], message: Array[Byte]): Unit

  /** Delivers the messages of a subject, of whose tokens some may be `*`, one after the other. Of the subscriptions with the same
    * `group`, one gets each message. Closing the result ends the subscription. Throws `IOException` if the broker does not accept it.
    */
  def subscribe(subject: String, group: Option[String], inbox: Inbox): AutoCloseable

  /** Waits until the system has what was published, for a short time at most: the program may end after that. Called when a session
    * ends.
    */
  def flush(): Unit = ()

  /** Whether the broker can be reached at the moment. While it cannot, no session begins, and no heartbeats are published. */
  def isConnected: Boolean = true

  /** What the broker has last reported as not permitted, with the subject in double quotes, if it reports that. */
  def denied: Option[String] = None

  /** The longest message that can be published, in bytes; at least 8,192. */
  def maxMessage: Int

  /** Closes the connection. */
  override def close(): Unit
}

/** What takes the messages of a subscription. It does not wait. */
trait Inbox {

  /** A message has arrived. The array belongs to the inbox. */
  def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit

  /** Nothing has subscribed to the subject of a message that was published with `subject` as its `reply`. */
  def unanswered(subject: String): Unit

  /** The broker will deliver nothing more. Not called if the connection was interrupted and may come back. */
  def lost(): Unit
}

/** Connects to the brokers of addresses `nats://host:port/name`. The module `duologue-nats` provides it as a service. */
trait BrokerConnector {

  /** Connects to a server, `host:port`, before the deadline, a time of `System.nanoTime`. Throws `IOException` if that fails. */
  def connect(server: String, deadline: Long): Broker
}

/** How a process takes part in sessions over a broker.
  *
  * @param heartbeat
  *   how often it notifies the others that it is there, and asks what has arrived. A process from which nothing arrives for four times
  *   as long is gone. All processes need the same value
  * @param prefix
  *   what its subjects begin with, after `duo.at.`: tokens of letters, digits, `-` and `_`, separated by dots. With a prefix for each
  *   user, a broker can deny users each other's messages
  */
final case class ExchangeOptions(heartbeat: FiniteDuration = 2.seconds, prefix: Option[String] = None) {
  if (heartbeat.toMillis < 1L) throw new IllegalArgumentException("a heartbeat must be at least 1 millisecond, not " + heartbeat.toString)
  prefix.foreach { prefix =>
    if (!Subjects.isName(prefix) || prefix.length > 128)
      throw new IllegalArgumentException(
        "a prefix has only tokens of letters, digits, `-` and `_`, separated by dots, and at most 128 characters; `" + prefix + "` is none"
      )
  }
}
