package gateway.onzio

import duologue.SharedSender
import duologue.interop.zio._
import duologue.net.Listener
import gateway.{Command, Input, Queue, Say, Trader}
import protocols.{exchange, orders}
import zio._

/** The gateway in ZIO: everything that has to be closed belongs to a scope, and every wait can be interrupted. */
object Main extends ZIOAppDefault {

  override def run: ZIO[ZIOAppArgs with Scope, Any, Any] = getArgs.flatMap { arguments =>
    Command.parse(arguments.toList) match {
      case Some(serve: Command.Serve) => this.serve(serve)
      case Some(trade: Command.Trade) => ZIO.attemptBlocking(Trader.run(trade))
      case None                       => ZIO.succeed(java.lang.System.err.println(Command.usage)) *> exit(ExitCode(2))
    }
  }

  /** Serves until the end of standard input. */
  private def serve(command: Command.Serve): Task[Unit] = ZIO.scoped {
    for {
      tally <- Promise.make[Throwable, Queue.Tally]
      open <- service(exchange.init())(requests => new Desk(command).run(requests).intoPromise(tally))
      _ <- ZIO.scoped[Any](trading(open, command))
      tally <- tally.await
      _ <- ZIO.succeed(Say("closed after " + tally.toString))
    } yield ()
  }

  /** The scope of all sessions. Its end interrupts those that are left, and closes the listener and then the last sender, which lets the
    * desk end.
    */
  private def trading(open: exchange.client.Open, command: Command.Serve): ZIO[Scope, Throwable, Unit] = for {
    sender <- ZIO.fromAutoCloseable(ZIO.succeed(SharedSender(open)))
    listener <- ZIO.fromAutoCloseable(ZIO.attemptBlocking(Listener(command.address)))
    _ <- accept(listener, new Session(sender, command)).forkScoped
    _ <- ZIO.succeed(Say("listening " + listener.address))
    _ <- ZIO.attemptBlockingInterrupt(Input.awaitEnd())
    _ <- send(sender)(_.close())
    _ <- ZIO.succeed(Say("closing"))
    _ <- ZIO.attemptBlockingInterrupt(listener.drain(command.grace))
  } yield ()

  /** Begins sessions until the listener is closed. From accepting an endpoint until its fiber has it, nothing is interrupted. */
  private def accept(listener: Listener, session: Session): ZIO[Scope, Throwable, Nothing] =
    ZIO.uninterruptibleMask { restore =>
      restore(ZIO.attemptBlockingInterrupt(listener.accept(orders.server): orders.server.Start))
        .flatMap(start => session.serve(start).forkScoped)
    }.forever
}
