package duologue.net

import duologue.{Bytes, Why, abandon}
import javax.net.ssl.SSLContext
import narrow.{journal => bounded}
import protocols.telemetry
import scala.concurrent.duration.DurationInt
import wide.{journal => free}

/** Both sides find the same reason for the end of a session, over sockets and over TLS. */
final class ReasonsSuite extends NetSuite {

  test("both sides find the reason over sockets")(find(isSecure = false))

  test("both sides find the reason over TLS")(find(isSecure = true))

  private def find(isSecure: Boolean): Unit = {
    lazy val certificates = Certificates.shared
    def tls(name: String): Option[SSLContext] = if (isSecure) Some(certificates.context(name)) else None
    def serving(limits: Limits): Listener = Listener(if (isSecure) "tls://127.0.0.1:0" else freshAddress(), limits, tls("server"))
    val options = ConnectOptions(tls = tls("client"))
    def begun(limits: Limits = Limits()): (telemetry.server.Report, telemetry.client.Report, Listener) = {
      val listener = serving(limits)
      val (server, client) = meet(telemetry.server, telemetry.client, listener, options)
      (server, client, listener)
    }

    val (reader, leaver, left) = begun()
    abandon(leaver)
    assertEquals(why(reader.recv()), Why.Left)
    left.close()

    val (drained, waiting, draining) = begun()
    assert(!draining.drain(0.seconds))
    assertEquals(why(drained.recv()), Why.Lost)
    assertEquals(why(waiting.flush().recv()), Why.Left)

    val listener = serving(Limits())
    val (broken, breaking) = meet(bounded.server, free.client, listener, options)
    val answer = breaking.attach(Bytes.copyOf(new Array[Byte](4))).lookUp((1, "k"), None)
    assertEquals(why(broken.recv()), Why.Broken)
    assertEquals(why(answer.recv()), Why.Broken)
    listener.close()

    val (server, late, idle) = begun(Limits(idle = 1.hour))
    turn(hours = 2)
    assertEquals(why(server.recv()), Why.Late)
    assertEquals(why(late.flush().recv()), Why.Late)
    idle.close()

    val (small, large, limited) = begun(Limits(memory = 1L << 16))
    val echo = large.raw(true, "", Bytes.copyOf(new Array[Byte](1 << 17))).flush()
    assertEquals(why(small.recv()), Why.TooLarge)
    assertEquals(why(echo.recv()), Why.TooLarge)
    limited.close()

    val full = serving(Limits(sessions = 0))
    full.serve(telemetry.server)(abandon(_)).start(): Unit
    assertEquals(intercept[Refused](connect(telemetry.client, full.address, options)).verdict, Verdict.Full)
    full.close()
  }
}
