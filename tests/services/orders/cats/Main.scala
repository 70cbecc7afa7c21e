package gateway.oncats

import cats.effect.{Deferred, ExitCode, IO, IOApp, Resource}
import cats.effect.std.Supervisor
import duologue.SharedSender
import duologue.interop.cats._
import duologue.net.Listener
import gateway.{Command, Input, Queue, Say, Trader}
import protocols.{exchange, orders}

/** The gateway in cats-effect: everything that has to be closed is a resource, and every wait can be canceled. */
object Main extends IOApp {

  override def run(arguments: List[String]): IO[ExitCode] = Command.parse(arguments) match {
    case Some(serve: Command.Serve) => this.serve(serve).as(ExitCode.Success)
    case Some(trade: Command.Trade) => IO.blocking(Trader.run(trade)).as(ExitCode.Success)
    case None                       => IO(System.err.println(Command.usage)).as(ExitCode(2))
  }

  /** Serves until the end of standard input. */
  private def serve(command: Command.Serve): IO[Unit] = for {
    tally <- Deferred[IO, Either[Throwable, Queue.Tally]]
    desk = service[IO](exchange.init())(requests => new Desk(command).run(requests).attempt.flatMap(tally.complete).void)
    _ <- desk.flatMap(open => resources(open, command)).use { case (sender, listener, sessions) =>
      trade(sender, listener, sessions, command)
    }
    tally <- tally.get.rethrow
    _ <- IO(Say("closed after " + tally.toString))
  } yield ()

  /** Released in reverse: the sessions that are left are canceled, and then the listener and the last sender are closed, which lets
    * the desk end.
    */
  private def resources(
      open: exchange.client.Open,
      command: Command.Serve
  ): Resource[IO, (SharedSender[exchange.client.Open], Listener, Supervisor[IO])] = for {
    sender <- Resource.fromAutoCloseable(IO(SharedSender(open)))
    listener <- Resource.fromAutoCloseable(IO.blocking(Listener(command.address)))
    sessions <- Supervisor[IO]
  } yield (sender, listener, sessions)

  private def trade(
      sender: SharedSender[exchange.client.Open],
      listener: Listener,
      sessions: Supervisor[IO],
      command: Command.Serve
  ): IO[Unit] =
    accept(listener, new Session(sender, command), sessions).background.surround {
      for {
        _ <- IO(Say("listening " + listener.address))
        _ <- IO.interruptible(Input.awaitEnd())
        _ <- send[IO](sender)(_.close())
        _ <- IO(Say("closing"))
        _ <- IO.interruptible(listener.drain(command.grace))
      } yield ()
    }

  /** Begins sessions until the listener is closed. From accepting an endpoint until its fiber has it, nothing is canceled. */
  private def accept(listener: Listener, session: Session, sessions: Supervisor[IO]): IO[Nothing] =
    IO.uncancelable { poll =>
      poll(IO.interruptible(listener.accept(orders.server): orders.server.Start))
        .flatMap(start => sessions.supervise(session.serve(start)))
    }.foreverM
}
