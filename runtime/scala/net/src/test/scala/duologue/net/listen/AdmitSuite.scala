package duologue.net

import duologue.{Bytes, abandon}
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}
import protocols.bank

/** Listeners that decide which peers they admit. */
final class AdmitSuite extends NetSuite {

  /** The listener, and what its handlers got from `admit`. */
  private def serving[A](listener: Listener)(admit: Peer => Option[A]): (Listener, LinkedBlockingQueue[A]) = {
    val values = new LinkedBlockingQueue[A]
    val serves = listener.serveAdmitted(bank.server)(admit) { (login, value) =>
      values.add(value): Unit
      abandon(login)
    }
    (serves.start(), values)
  }

  private def next[A](values: LinkedBlockingQueue[A]): A = values.poll(Patience, TimeUnit.SECONDS)

  private def visit(listener: Listener, options: ConnectOptions = ConnectOptions()): Unit =
    abandon(connect(bank.client, listener.address, options))

  test("a listener admits peers by their token, and passes what it found on to the handler") {
    val names = Map(Bytes(1, 2) -> "holk", Bytes(3) -> "hans")
    val (listener, values) = serving(Listener(freshAddress(), Limits(sessions = 1)))(peer => peer.token.flatMap(names.get))
    for (options <- List(ConnectOptions(), ConnectOptions(token = Some(Bytes(9))))) {
      val refused = intercept[Refused](visit(listener, options))
      assertEquals(refused.verdict, Verdict.NotAdmitted)
    }
    for ((token, name) <- names) {
      visit(listener, ConnectOptions(token = Some(token)))
      assertEquals(next(values), name)
      eventually(listener.size == 0)
    }
    listener.close()
  }

  test("sessions that are accepted come with what was found about their peer") {
    val names = Map(Bytes(1, 2) -> "holk", Bytes(3) -> "hans")
    val listener = Listener(freshAddress())
    val customers = listener.acceptor(bank.server)(peer => peer.token.flatMap(names.get))
    assertEquals(intercept[Refused](visit(listener)).verdict, Verdict.NotAdmitted)
    for ((token, name) <- names) {
      val client = connect(bank.client, listener.address, ConnectOptions(token = Some(token)))
      val (login, found) = customers.accept()
      assertEquals(found, name)
      abandon(client)
      login.recvOrClosed() match {
        case Left(closed)   => assertEquals(closed.why, duologue.Why.Left)
        case Right(message) => fail(message.toString)
      }
    }
    // One that is not accepted ends with the listener.
    val waits = connect(bank.client, listener.address, ConnectOptions(token = Some(Bytes(3))))
    listener.close()
    assert(waits.login("holk", "1234").recvOrClosed().isLeft)
    intercept[java.nio.channels.ClosedChannelException] {
      while (true) customers.accept(): Unit
    }: Unit
  }

  test("a peer over a Unix socket is a user of the system, and others have an address") {
    def all(peer: Peer) = Some((peer.protocol, peer.user, peer.address.map(_.takeWhile(_ != '.')), peer.certificates.size))
    val (local, users) = serving(Listener(freshAddress()))(all)
    visit(local)
    assertEquals(next(users), ("bank", Option(System.getProperty("user.name")), Option.empty[String], 0))
    val (remote, addresses) = serving(Listener("tcp://127.0.0.1:0"))(all)
    visit(remote)
    assertEquals(next(addresses), ("bank", Option.empty[String], Option("tcp://127"), 0))
    List(local, remote).foreach(_.close())
  }

  test("over TLS a peer has the certificates that it has presented") {
    val certificates = Certificates.shared
    val listener = Listener("tls://127.0.0.1:0", tls = Some(certificates.context("server")))
    val (serves, subjects) = serving(listener)(_.certificates.headOption.map(_.getSubjectX500Principal.getName))
    visit(serves, ConnectOptions(tls = Some(certificates.context("client"))))
    val subject = next(subjects)
    assert(subject.contains("client"), subject)
    serves.close()
  }

  test("an exception of the function that admits ends the connection, and takes no session") {
    val seen = new LinkedBlockingQueue[Throwable]
    val before = Thread.getDefaultUncaughtExceptionHandler
    Thread.setDefaultUncaughtExceptionHandler((_, thrown) => seen.add(thrown): Unit)
    try {
      val (listener, values) = serving(Listener(freshAddress(), Limits(sessions = 1))) { peer =>
        if (peer.token.isEmpty) throw new IllegalStateException("no token")
        peer.token
      }
      for (_ <- 1 to 3) {
        intercept[ConnectFailed](visit(listener)): Unit
        assertEquals(next(seen).getMessage, "no token")
      }
      visit(listener, ConnectOptions(token = Some(Bytes(1))))
      assertEquals(next(values), Bytes(1))
      listener.close()
    } finally Thread.setDefaultUncaughtExceptionHandler(before)
  }
}
