package duologue.bench

import duologue.bench.talks.stream
import java.util.concurrent.atomic.{AtomicLongArray, AtomicReferenceArray}
import java.util.concurrent.locks.LockSupport
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import org.apache.pekko.actor.typed.scaladsl.Behaviors

/** The thread-ring of the Computer Language Benchmarks Game: virtual threads, or actors, and tokens, which each passes on. */
object ThreadRing {

  /** What a case runs with this many threads or actors, of which the first have a token each. An operation is a lap. */
  def of(peer: String, count: Int, tokens: Int = 1): Origin = peer match {
    case "duologue"        => new Ours(count, tokens)
    case "Pekko actors"    => new Actors(count)
    case "park and unpark" => new Parks(count)
    case link              => new Links(Array.fill(count)(Link.of[java.lang.Long](link)), tokens)
  }

  /** A thread that begins with a token has it last, too. A token is a 1. */
  private final class Ours(count: Int, tokens: Int) extends OnThreads(count) {
    private val sessions = Array.fill(count)(stream.init())
    private val servers = sessions.map(_._1)
    private val clients = sessions.map(_._2)

    def play(place: Int, laps: Int): Long = {
      val from = if (place == 0) count - 1 else place - 1
      var client = clients(place)
      var server = servers(from)
      var sum = 0L
      var i = 0
      while (i < laps) {
        if (place < tokens) client = client.send(1L)
        val token = server.recv()
        server = token.next
        sum += token.value
        if (place >= tokens) client = client.send(token.value)
        i += 1
      }
      clients(place) = client
      servers(from) = server
      sum
    }
  }

  private final class Links(links: Array[Link[java.lang.Long]], tokens: Int) extends OnThreads(links.length) {
    private val token = java.lang.Long.valueOf(1L)

    def play(place: Int, laps: Int): Long = {
      val from = links(if (place == 0) links.length - 1 else place - 1)
      var sum = 0L
      var i = 0
      while (i < laps) {
        if (place < tokens) links(place).put(token)
        val taken = from.take()
        sum += taken.longValue
        if (place >= tokens) links(place).put(taken)
        i += 1
      }
      sum
    }
  }

  /** What waking and sleeping cost without messages: each thread has a counter of tokens. */
  private final class Parks(count: Int) extends OnThreads(count) {
    private val Apart = 16
    private val threads = new AtomicReferenceArray[Thread](count)
    private val tokens = new AtomicLongArray(Apart * count)

    def play(place: Int, laps: Int): Long = {
      val own = Apart * place
      val next = (place + 1) % count
      threads.set(place, Thread.currentThread)
      var i = 0
      while (i < laps) {
        if (place == 0) wake(next)
        while (tokens.get(own) == i) LockSupport.park()
        if (place != 0) wake(next)
        i += 1
      }
      tokens.set(own, 0L)
      laps.toLong
    }

    /** A thread that is not there yet finds its token before it sleeps. */
    private def wake(next: Int): Unit = {
      tokens.incrementAndGet(Apart * next): Unit
      LockSupport.unpark(threads.get(next))
    }
  }

  private sealed trait Message
  private final case class Next(actor: ActorRef[Message]) extends Message
  private final case class Token(passed: Long, all: Long, done: Done) extends Message

  private def actor(next: Option[ActorRef[Message]]): Behavior[Message] = Behaviors.receiveMessage {
    case Next(other)    => actor(Some(other))
    case Token(passed, all, done) =>
      if (passed == all) done(passed) else next.foreach(_ ! Token(passed + 1L, all, done))
      Behaviors.same
  }

  private final class Actors(count: Int) extends Origin {
    private val first = new java.util.concurrent.CompletableFuture[ActorRef[Message]]
    private val system = ActorSystem[Nothing](
      Behaviors.setup[Nothing] { context =>
        val all = Vector.tabulate(count)(place => context.spawn(actor(None), "a" + place.toString))
        all.indices.foreach(place => all(place) ! Next(all((place + 1) % count)))
        first.complete(all.head)
        Behaviors.empty
      },
      "ring",
      Pekko.quiet
    )

    def run(laps: Int): Long = {
      val done = new Done(1)
      first.join() ! Token(0L, count.toLong * laps, done)
      done.await()
    }

    override def end(): Unit = Pekko.end(system)
  }
}
