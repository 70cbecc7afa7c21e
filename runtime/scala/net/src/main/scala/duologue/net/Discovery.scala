package duologue.net

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.time.temporal.ChronoUnit.SECONDS

/** The subject of a protocol as the service discovery of NATS describes it, and what has arrived there. */
private[net] final class ServiceEndpoint(val subject: String, protocol: String, fingerprint: Fingerprint) {
  private var requests = 0L
  private var errors = 0L
  private var last = ""

  /** Counts a hello that is answered, and the verdict if the session is refused. */
  def count(refused: Option[Int]): Unit = synchronized {
    requests += 1L
    refused.foreach { verdict =>
      errors += 1L
      last = Verdict.short(verdict)
    }
  }

  /** As the answer to a request, which has the counts or not. */
  def json(hasCounts: Boolean): String = {
    import Service.quoted
    val name = protocol.map(char => if (Subjects.isPlain(char)) char else '_')
    val rest =
      if (hasCounts) synchronized {
        "\"num_requests\":" + requests.toString + ",\"num_errors\":" + errors.toString + ",\"last_error\":" + quoted(last) +
          ",\"processing_time\":0,\"average_processing_time\":0}"
      }
      else "\"metadata\":{\"fingerprint\":" + quoted(fingerprint.toString) + ",\"protocol\":" + quoted(protocol) + "}}"
    "{\"name\":" + quoted(name) + ",\"subject\":" + quoted(subject) + ",\"queue_group\":\"duo\"," + rest
  }
}

/** A listener as a service that programs can discover: see `docs/wire.md`. It takes the requests. */
private[net] final class Service(exchange: Exchange, servers: String) extends Inbox {
  import Service.{MostAnswers, Rest, Verbs, Version, quoted}

  private val broker = exchange.broker
  private val name = servers.replace('.', '_')

  /** Not the name of the process, which only its peers know. */
  private val id = Subjects.random()
  private val started = Instant.now().truncatedTo(SECONDS).toString
  @volatile private var endpoints = Vector.empty[ServiceEndpoint]
  @volatile private var isOver = false

  /** When the last second began in which there were requests, and how many were answered in it. */
  private var second = System.nanoTime()
  private var answered = 0

  def add(endpoint: ServiceEndpoint): Unit = synchronized { endpoints = endpoints :+ endpoint }

  /** Begins to answer, and waits until the broker knows that. */
  def announce(): Vector[AutoCloseable] = {
    val subjects = Vector("$SRV.*", "$SRV.*." + name, "$SRV.*." + name + "." + id)
    var subscribed = Vector.empty[AutoCloseable]
    try {
      subjects.foreach(subject => subscribed = subscribed :+ broker.subscribe(subject, None, this))
      exchange.settle(Exchange.Echo)
      subjects.foreach(exchange.denied(_).foreach(throw _))
      subscribed
    } catch {
      case thrown: Throwable =>
        subscribed.foreach(Dialogue.hangUp(_))
        throw thrown
    }
  }

  /** Answers nothing more, even if the broker still delivers requests. */
  def end(): Unit = isOver = true

  def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit =
    for {
      verb <- subject.split("\\.", -1).lift(1)
      kind <- Verbs.get(verb)
      reply <- reply
      if Service.mayBeAnswered(reply) && mayAnswer()
    } broker.publish(reply, None, answer(verb, kind).getBytes(UTF_8))

  def unanswered(subject: String): Unit = ()

  def lost(): Unit = ()

  /** Whether one more request may be answered in this second. */
  private def mayAnswer(): Boolean = synchronized {
    val now = System.nanoTime()
    if (now - second >= 1000000000L) {
      second = now
      answered = 0
    }
    val may = !isOver && broker.isConnected && answered < MostAnswers
    if (may) answered += 1
    may
  }

  private def answer(verb: String, kind: String): String = {
    val text = new StringBuilder
    text ++= "{\"type\":\"io.nats.micro.v1." + kind + "\",\"name\":" + quoted(name) + ",\"id\":" + quoted(id) + ",\"version\":" +
      quoted(Version) + ",\"metadata\":{\"language\":\"scala\",\"servers\":" + quoted(servers) + "}"
    if (verb == "INFO") text ++= ",\"description\":\"Sessions of Duologue\""
    if (verb == "STATS") text ++= ",\"started\":" + quoted(started)
    if (verb != "PING") {
      text ++= ",\"endpoints\":["
      var size = text.length + Rest
      var isFirst = true
      // The broker accepts no longer message.
      endpoints.iterator
        .map(_.json(verb == "STATS"))
        .takeWhile { next =>
          size += next.getBytes(UTF_8).length + 1
          size <= broker.maxMessage
        }
        .foreach { next =>
          if (!isFirst) text += ','
          isFirst = false
          text ++= next
        }
      text += ']'
    }
    text += '}'
    text.toString
  }
}

private[net] object Service {

  /** The version of this runtime. */
  val Version = "0.1.0"

  /** What can be requested, and the names of the answers. */
  private val Verbs = Map("PING" -> "ping_response", "INFO" -> "info_response", "STATS" -> "stats_response")

  /** How many requests are answered in a second. Others are ignored, because each answer takes memory until it is on its way. */
  private val MostAnswers = 100

  private val LongestReply = 256

  /** More than what goes after the endpoints. */
  private val Rest = 64

  /** Whether an answer may be published to this subject, which any program can have chosen: it is one subject, and neither for a session
    * nor for the broker itself.
    */
  private[net] def mayBeAnswered(reply: String): Boolean = {
    def isPlain(char: Char) = char > ' ' && char < '\u007f' && char != '*' && char != '>'
    val isReserved = reply.startsWith("$") || reply == "duo" || reply.startsWith("duo.")
    reply.length <= LongestReply && !isReserved && reply.split("\\.", -1).forall(token => token.nonEmpty && token.forall(isPlain(_)))
  }

  /** A string of JSON. Half of a surrogate pair becomes a question mark when it is encoded. */
  def quoted(text: String): String = {
    val quoted = new StringBuilder("\"")
    text.foreach {
      case char @ ('"' | '\\')                           => quoted += '\\' += char
      case char if char < ' ' || char == '\u007f' => quoted ++= f"\\u${char.toInt}%04x"
      case char                                          => quoted += char
    }
    (quoted += '"').toString
  }
}
