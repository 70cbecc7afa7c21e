package duologue.bench

import duologue.bench.talks.ping_pong
import zio.{Queue as ZioQueue, ZIO}

/** A value to another thread and back. */
object PingPong {
  def of(peer: String): Origin = peer match {
    case "raw line (busy spin)" => new Raw
    case "duologue"             => new Ours
    case "ZIO Queue"            => new Zio
    case link                   => new Two(Link.of(link), Link.of(link))
  }

  private final class Raw extends Origin {
    private val line = new Line
    private var at = 0L
    private var beside = 1L
    Beside.forever { () =>
      line.spinTo(beside)
      line.write(beside + 1)
      beside += 2
    }

    def run(count: Int): Long = {
      var i = 0
      while (i < count) {
        line.write(at + 1)
        line.spinTo(at + 2)
        at += 2
        i += 1
      }
      at
    }
  }

  private final class Ours extends Origin {
    private val session = ping_pong.init()
    private var server = session._1
    private var client = session._2
    Beside.forever { () =>
      val ping = server.recv()
      server = ping.next.pong(ping.value + 1)
    }

    def run(count: Int): Long = {
      var own = client
      var sum = 0L
      var i = 0
      while (i < count) {
        val pong = own.ping(i.toLong).recv()
        sum += pong.value
        own = pong.next
        i += 1
      }
      client = own
      sum
    }
  }

  private final class Two(there: Link[String], back: Link[String]) extends Origin {
    Beside.forever(() => back.put(there.take()))

    def run(count: Int): Long = {
      var sum = 0L
      var i = 0
      while (i < count) {
        there.put("ping")
        sum += back.take().length
        i += 1
      }
      sum
    }
  }

  private final class Zio extends Origin {
    private val (there, back) = OfZio.run(ZioQueue.bounded[String](Link.Room).zip(ZioQueue.bounded[String](Link.Room)))
    OfZio.run(there.take.flatMap(back.offer).forever.forkDaemon): Unit

    private def trips(left: Int): ZIO[Any, Nothing, Long] =
      if (left == 0) ZIO.succeed(0L) else there.offer("ping") *> back.take.flatMap(_ => trips(left - 1))

    def run(count: Int): Long = OfZio.run(trips(count))
  }
}
