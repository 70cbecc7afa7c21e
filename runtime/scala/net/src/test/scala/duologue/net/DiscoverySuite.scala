package duologue.net

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import protocols.bank
import scala.concurrent.duration.DurationLong

/** Service discovery: a listener that is discoverable answers, and others do not. */
final class DiscoverySuite extends NetSuite {
  private val fingerprint = "6b4021487a63e0618d274211e3ebd7c9"

  private final class Answers extends Inbox {
    val all = new ConcurrentLinkedQueue[String]
    def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit = all.add(new String(message, UTF_8)): Unit
    def unanswered(subject: String): Unit = ()
    def lost(): Unit = ()
  }

  /** What is published to `reply` after a request. A second message shows when all that came before it was delivered. */
  private def ask(broker: MemoryBroker, subject: String, reply: String = "_INBOX.test"): List[String] = {
    val answers = new Answers
    val subscription = broker.subscribe(reply, None, answers)
    broker.publish(subject, Some(reply), Array.emptyByteArray)
    for (_ <- 1 to 2) {
      val end = new CountDownLatch(1)
      val ended = broker.subscribe(
        "test.end",
        None,
        new Inbox {
          def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit = end.countDown()
          def unanswered(subject: String): Unit = ()
          def lost(): Unit = ()
        }
      )
      broker.publish("test.end", None, Array.emptyByteArray)
      assert(end.await(Patience, TimeUnit.SECONDS))
      ended.close()
    }
    subscription.close()
    answers.all.toArray(Array.empty[String]).toList
  }

  private def at[T](body: (MemoryBroker, () => Exchange) => T): T = {
    val broker = new MemoryBroker(1L)
    val exchanges = new ConcurrentLinkedQueue[Exchange]
    def exchange(): Exchange = {
      val made = Exchange.over(broker.connection(), ExchangeOptions())
      exchanges.add(made): Unit
      made
    }
    try body(broker, () => exchange())
    finally {
      exchanges.forEach(_.close())
      broker.close()
    }
  }

  private def listener(exchange: Exchange): Listener =
    Listener.through(exchange, "eu.bank").serve(bank.server)(_ => ())

  test("a discoverable listener answers with what it serves, until it drains, and others do not answer") {
    at { (broker, exchange) =>
      val hidden = listener(exchange()).start()
      assertEquals(ask(broker, "$SRV.PING"), Nil)
      val found = listener(exchange()).discoverable().start()
      val ping = ask(broker, "$SRV.PING").mkString("\n")
      val id = "[0-9a-f]{32}".r.findFirstIn(ping).getOrElse(fail(ping))
      def common(kind: String) = "{\"type\":\"io.nats.micro.v1." + kind + "_response\",\"name\":\"eu_bank\",\"id\":\"" + id +
        "\",\"version\":\"" + Service.Version + "\",\"metadata\":{\"language\":\"scala\",\"servers\":\"eu.bank\"}"
      assertEquals(ping, common("ping") + "}")
      val name = bank.server.$protocol.name
      val endpoint = "\"endpoints\":[{\"name\":\"" + name.replace('.', '_') + "\",\"subject\":\"duo.eu.bank." + fingerprint +
        "\",\"queue_group\":\"duo\","
      val info = common("info") + ",\"description\":\"Sessions of Duologue\"," + endpoint + "\"metadata\":{\"fingerprint\":\"" +
        fingerprint + "\",\"protocol\":\"" + name + "\"}}]}"
      for (subject <- List("$SRV.INFO", "$SRV.INFO.eu_bank", "$SRV.INFO.eu_bank." + id)) assertEquals(ask(broker, subject), List(info))
      for (subject <- List("$SRV.INFO.other", "$SRV.INFO.eu_bank.other", "$SRV.OTHER")) assertEquals(ask(broker, subject), Nil)
      // Nothing is published for sessions, and nothing for the broker itself.
      for (reply <- List("duo.at.me.you", "$SRV.OTHER", "duo.eu.bank.x")) assertEquals(ask(broker, "$SRV.INFO", reply), Nil)
      hidden.close()
      assert(found.drain(Patience.seconds))
      assertEquals(ask(broker, "$SRV.PING"), Nil)
    }
  }

  test("sessions and refusals are counted") {
    at { (broker, exchange) =>
      val found = listener(exchange()).discoverable().start()
      val here = exchange()
      for (_ <- 1 to 3) duologue.abandon(connectThrough(bank.client, here, "eu.bank"))
      intercept[Refused](connectThrough(bank.server, here, "eu.bank")): Unit
      val stats = ask(broker, "$SRV.STATS.eu_bank").mkString("\n")
      val counts = "\"num_requests\":4,\"num_errors\":1,\"last_error\":\"" + Verdict.short(Verdict.SameSide) +
        "\",\"processing_time\":0,\"average_processing_time\":0}]}"
      assert(stats.endsWith(counts), stats)
      assert(stats.contains(",\"started\":\"20"), stats)
      found.close()
    }
  }

  test("a flood of requests is not answered") {
    at { (broker, exchange) =>
      val found = listener(exchange()).discoverable().start()
      val answers = new Answers
      broker.subscribe("_INBOX.flood", None, answers): Unit
      for (_ <- 1 to 50000) broker.publish("$SRV.INFO", Some("_INBOX.flood"), Array.emptyByteArray)
      ask(broker, "$SRV.PING"): Unit
      assert(answers.all.size > 0 && answers.all.size < 25000, answers.all.size.toString)
      found.close()
    }
  }

  test("strings and subjects that others choose") {
    assertEquals(Service.quoted("a \"b\"\\\n\u007fé"), "\"a \\\"b\\\"\\\\\\u000a\\u007fé\"")
    for (reply <- List("_INBOX.a.b", "holk", "duologue.x", "a.$b")) assert(Service.mayBeAnswered(reply), reply)
    val bad = List("", "duo", "duo.at.x.y", "$SYS.x", "a.*", "a.>", "a..b", "a.", ".a", "a b", "a\r\nPUB x", "é", "a" * 257)
    for (reply <- bad) assert(!Service.mayBeAnswered(reply), reply)
  }
}
