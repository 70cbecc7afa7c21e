package cases

import duologue.{SessionClosed, abandon}
import duologue.net.{ConnectFailed, Health, Listener, connect}
import protocols.pingpong
import scala.annotation.tailrec
import scala.concurrent.duration.DurationInt

/** A server that clients in any language ask about its services, and such a client: `Ask server|client ADDRESS`. The program `ask` of
  * tests/conversations describes what they read and print.
  */
object Ask {
  private val statuses = List("unknown" -> Health.Unknown, "serving" -> Health.Serving, "not_serving" -> Health.NotServing)

  private def text(status: Health.Status): String = statuses.find(_._2 == status).fold("?")(_._1)

  private def say(line: String): Unit = synchronized {
    println(line)
    System.out.flush()
  }

  /** The words of a line of the input; none at its end. */
  private def next(): List[String] = Option(scala.io.StdIn.readLine()).fold(List.empty[String])(_.split(' ').toList)

  private def service(word: String): String = if (word == "-") "" else word

  private def start(body: => Unit): Thread = {
    val thread = new Thread(() => body)
    thread.start()
    thread
  }

  /** Until the client leaves. */
  private def hold(ping: pingpong.server.Ping): Unit =
    try ping.recv(): Unit
    catch { case _: SessionClosed => () }

  private def serve(address: String): Unit = {
    val health = new Health
    val listener = Listener(address).serve(pingpong.server)(hold(_)).health(health).start()
    val held = connect(pingpong.client, listener.address)
    say("listening " + listener.address)
    @tailrec def set(): Unit = next() match {
      case List("set", name, status) =>
        health.set(service(name), statuses.find(_._1 == status).get._2)
        say("set")
        set()
      case words => require(words == List("drain"), words.toString)
    }
    set()
    val draining = start(require(listener.drain(10.minutes)))
    say("draining")
    require(next() == List("end"))
    abandon(held)
    draining.join()
    say("drained")
  }

  private def ask(address: String): Unit = {
    def watch(name: String): Unit =
      try {
        Health.watch(address, name).foreach(status => say("watched " + text(status)))
        say("watched over")
      } catch { case closed: SessionClosed => say("watched " + closed.why.toString) }
    def check(name: String): String =
      try text(Health.check(address, name))
      catch { case _: ConnectFailed => "failed" }
    @tailrec def all(): Unit = next() match {
      case List("watch", name) =>
        start(watch(service(name))): Unit
        all()
      case List(_, name) =>
        say("checked " + check(service(name)))
        all()
      case _ => ()
    }
    all()
  }

  def main(arguments: Array[String]): Unit = if (arguments(0) == "server") serve(arguments(1)) else ask(arguments(1))
}
