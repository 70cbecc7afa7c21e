package patterns

import duologue.{abandon, sendOrClosed, SharedSender}
import protocols.{lines, topics}
import scala.util.Using

/** A hub that passes on what is published under a topic. */
object Topics {

  @scala.annotation.tailrec
  def hub(inbox: topics.server.Open, subscribers: Map[String, List[lines.client.Open]]): Unit = inbox.recvOrClosed() match {
    case Right(topics.Open.Subscribe(topic, to, next)) =>
      hub(next, subscribers.updated(topic, to :: subscribers.getOrElse(topic, Nil)))
    case Right(topics.Open.Publish(topic, text, next)) =>
      val left = subscribers.getOrElse(topic, Nil).flatMap(to => sendOrClosed(to)(_.line(text)).toOption)
      hub(next, subscribers.updated(topic, left))
    case Left(_) => subscribers.values.flatten.foreach(abandon)
  }

  def main(args: Array[String]): Unit = {
    val (server, client) = topics.init()
    val thread = new Thread(() => hub(server, Map.empty))
    thread.start()
    Using.resource(SharedSender(client)) { publisher =>
      val (news, to) = lines.init()
      publisher.send(_.subscribe("news", to))
      publisher.send(_.publish("weather", "rain").publish("news", "a bridge opens"))
      val lines.Open.Line(line, next) = news.recv()
      require(line.equals("a bridge opens"))

      // Closing the session ends the subscription.
      abandon(next)
      publisher.send(_.publish("news", "nobody hears this"))
    }
    thread.join()
  }
}
