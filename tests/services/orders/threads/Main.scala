package gateway.onthreads

import duologue.SharedSender
import duologue.net.Listener
import gateway.{Command, Input, Log, Say, Trader}
import java.nio.channels.ClosedChannelException
import protocols.{exchange, orders}
import scala.concurrent.Await
import scala.concurrent.duration.Duration
import scala.util.Using

/** The gateway on threads, each of which waits for one thing at a time. */
object Main {
  def main(arguments: Array[String]): Unit = Command.parse(arguments.toList) match {
    case Some(serve: Command.Serve) => this.serve(serve)
    case Some(trade: Command.Trade) => Trader.run(trade)
    case None                       =>
      System.err.println(Command.usage)
      System.exit(2)
  }

  /** Serves until the end of standard input. */
  private def serve(command: Command.Serve): Unit = {
    val (requests, open) = exchange.init()
    val tally = Threads.call(Using.resource(requests)(requests => new Desk(command).run(requests)))
    // Closing the last sender lets the desk end.
    Using.resources(SharedSender(open), Listener(command.address)) { (sender, listener) =>
      val sessions = new Sessions(sender, command)
      val accepting = Threads.start {
        Log("accepting in " + Threads.kind)
        accept(listener, sessions)
      }
      Say("listening " + listener.address)
      Input.awaitEnd()
      sender.send(_.close())
      Say("closing")
      val _ = listener.drain(command.grace)
      accepting.join()
      sessions.close()
    }
    Say("closed after " + Await.result(tally, Duration.Inf).toString)
  }

  @scala.annotation.tailrec
  private def accept(listener: Listener, sessions: Sessions): Unit = {
    val accepted =
      try Some(listener.accept(orders.server))
      catch { case _: ClosedChannelException => None }
    accepted match {
      case Some(start) =>
        sessions.begin(start)
        accept(listener, sessions)
      case None => ()
    }
  }
}
