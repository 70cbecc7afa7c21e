package duologue

import duologue.protocols.{log, stream}
import scala.concurrent.duration._

/** Every operation that throws `SessionClosed` has a form that returns it. */
final class ClosedSuite extends RuntimeSuite {

  /** A form of an operation: `None` means that it would have to wait. */
  private type Form[E, R] = E => Either[SessionClosed, Option[R]]

  private val receives: List[Form[Server, stream.Stream[Int]]] = List(
    _.recvOrClosed().map(Some(_)),
    _.tryRecvOrClosed(),
    _.recvWithinOrClosed(1.milli)
  )

  private val sends: List[Form[Client, Client]] = List(
    sendOrClosed(_)(_.send(1)).map(Some(_)),
    trySendOrClosed(_)(_.send(1)),
    sendWithinOrClosed(_, 1.milli)(_.send(1)),
    client => Select(Select.writableOrClosed(client)(_.send(1))).tryRecv().fold[Either[SessionClosed, Option[Client]]](Right(None))(_.map(Some(_)))
  )

  private type Sender = SharedSender[log.client.Log]

  private val shares: List[Form[Sender, Boolean]] = List(
    _.sendOrClosed(_.line(1, 1)).map(_ => Some(true)),
    _.trySendOrClosed(_.line(1, 1)).map(Some(_)),
    _.sendWithinOrClosed(1.milli)(_.line(1, 1)).map(Some(_))
  )

  test("each form returns what the other one returns, while the session is open") {
    for (receive <- receives) {
      val (server, client) = stream.init[Int]()
      client.send(7): Unit
      receive(server) match {
        case Right(Some(stream.Stream.Send(7, next))) => abandon(next)
        case other                                    => fail(other.toString)
      }
    }
    for (send <- sends) {
      val (server, client) = stream.init[Int]()
      assert(send(client).exists(_.nonEmpty))
      assert(server.tryRecv().nonEmpty)
    }
    for (share <- shares) {
      val (server, client) = log.init()
      assertEquals(share(SharedSender(client)), Right(Some(true)): Either[SessionClosed, Option[Boolean]])
      assert(server.tryRecv().nonEmpty)
    }
  }

  test("each form says that the peer has closed the session") {
    def check[E, R](form: Form[E, R], endpoint: E, protocol: String): Unit = form(endpoint) match {
      case Left(closed) => assertEquals((closed.protocol, closed.isByPeer, closed.why), (protocol, true, Why.Left: Why))
      case other        => fail(other.toString)
    }
    for (receive <- receives) {
      val (server, client) = stream.init[Int]()
      abandon(client)
      check(receive, server, "stream")
    }
    for (send <- sends) {
      val (server, client) = stream.init[Int]()
      abandon(server)
      check(send, client, "stream")
      used(client.send(1))
    }
    for (share <- shares) {
      val (server, client) = log.init()
      abandon(server)
      check(share, SharedSender(client), "log")
    }
  }

  test("each form that does not wait leaves the endpoint as it is") {
    for (receive <- receives.tail) {
      val (server, client) = stream.init[Int]()
      assert(receive(server).exists(_.isEmpty))
      client.stop()
      assertEquals(server.recv(), stream.Stream.Stop[Int](): stream.Stream[Int])
    }
    for (send <- sends.tail) {
      val (server, client) = stream.init[Int]()
      val full = filled(client)
      assert(send(full).exists(_.isEmpty))
      abandon(full)
      assert(server.recvOrClosed().isRight)
    }
    for (share <- shares.tail) {
      val (server, client) = log.init()
      val sender = SharedSender(client)
      while (sender.trySend(_.line(9, 9))) {}
      assertEquals(share(sender), Right(Some(false)): Either[SessionClosed, Option[Boolean]])
      abandon(server)
    }
  }

  test("everything else is thrown") {
    val (server, client) = stream.init[Int]()
    val next = client.send(1)
    for (send <- sends) used(send(client))
    intercept[ArithmeticException](sendOrClosed(next)(_ => throw new ArithmeticException())): Unit
    val (reading, logging) = log.init()
    intercept[IllegalArgumentException](SharedSender(logging).sendOrClosed(_.line(256, 1))): Unit
    abandon(server)
    abandon(reading)
  }
}
