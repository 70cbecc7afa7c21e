package cases

import duologue.SessionClosed
import duologue.nats.{Announcement, Directory}
import duologue.net.{ConnectOptions, Fingerprint, Limits, Listener}
import java.io.IOException
import scala.annotation.tailrec
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.io.StdIn
import versions.{first, second}

/** A service of two versions, whose servers are found with NATS, and its clients: the same as `tests/nats/src/main.rs`, which says what it reads and
  * prints.
  */
object Desk {

  @tailrec
  private def answerFirst(asking: first.server.Asking, tag: String): Unit = asking.recv() match {
    case first.Asking.Ask(_, next) => answerFirst(next.answer(tag), tag)
    case first.Asking.Leave        => ()
  }

  @tailrec
  private def answerSecond(asking: second.server.Asking, tag: String): Unit = asking.recv() match {
    case second.Asking.Ask(_, next)   => answerSecond(next.answer(tag), tag)
    case second.Asking.Count(_, next) => answerSecond(next.counted(0L), tag)
    case second.Asking.Leave          => ()
  }

  /** A session of a client: asks, and returns the answer and the next session; or leaves. */
  private sealed trait Session {
    def ask(): (String, Session)
    def close(): Unit
  }
  private final class First(asking: first.client.Asking) extends Session {
    def ask(): (String, Session) = asking.ask("").recv() match {
      case first.Answering.Answer(text, next) => (text, new First(next))
    }
    def close(): Unit = asking.leave(): Unit
  }
  private final class Second(asking: second.client.Asking) extends Session {
    def ask(): (String, Session) = asking.ask("").recv() match {
      case second.Answering.Answer(text, next) => (text, new Second(next))
    }
    def close(): Unit = asking.leave(): Unit
  }

  private def open(nats: String): Directory = nats.split('@') match {
    case Array(user, server) =>
      val Array(name, password) = user.split(':'): @unchecked
      Directory(server, _.userInfo(name, password))
    case _ => Directory(nats)
  }

  private def lines: Iterator[String] = Iterator.continually(StdIn.readLine()).takeWhile(_ != null)

  private def serve(version: String, nats: String, name: String, tag: String, sessions: Int): Unit = {
    val directory = open(nats)
    val listener = Listener("tcp://127.0.0.1:0", Limits(sessions = sessions))
    val announcement: Announcement =
      if (version == "first") {
        listener.serve(first.server)(answerFirst(_, tag)).start(): Unit
        directory.announce(listener, first.server, name)
      } else {
        listener.serve(second.server)(answerSecond(_, tag)).start(): Unit
        directory.announce(listener, second.server, name)
      }
    println("ready")
    for (line <- lines) {
      if (line == "drain") {
        val draining = new Thread(() => listener.drain(1.hour): Unit)
        draining.setDaemon(true)
        draining.start()
        while (!listener.load.isDraining) Thread.`yield`()
      } else announcement.close()
      println(line)
    }
  }

  private def ask(version: String, nats: String, name: String, options: ConnectOptions): Unit = {
    val directory = open(nats)
    println("ready")
    var sessions = Vector.empty[Session]
    def opened(): Session =
      if (version == "first") new First(directory.connect(first.client, name, options))
      else new Second(directory.connect(second.client, name, options))
    for (line <- lines) line match {
      case "open" =>
        try {
          val (tag, session) = opened().ask()
          sessions :+= session
          println("open " + tag)
        } catch { case failed: IOException => println("failed " + failed.getMessage) }
      case "ask" =>
        sessions = sessions.flatMap { session =>
          try Some(session.ask()._2)
          catch { case _: SessionClosed => None }
        }
        println("asked " + sessions.size.toString)
      case _ =>
        sessions.foreach(session => try session.close() catch { case _: SessionClosed => () })
        sessions = Vector.empty
        println("closed")
    }
  }

  def main(arguments: Array[String]): Unit = {
    try
      arguments match {
        case Array("serve", version, nats, name, tag, sessions) => serve(version, nats, name, tag, sessions.toInt)
        case Array("ask", version, nats, name, seconds, older @ _*) =>
          val accepts = older.map(Fingerprint(_))
          ask(version, nats, name, ConnectOptions(timeout = FiniteDuration(seconds.toLong, "s"), accepts = accepts))
        case _ => println("failed: desk serve or desk ask")
      }
    catch { case failed: IOException => println("failed " + failed.getMessage) }
    System.exit(0)
  }
}
