package duologue.bench

import duologue.bench.talks.stream
import zio.{Queue as ZioQueue, ZIO}

/** Values to another thread, as fast as that thread takes them. */
object Stream {

  /** Each sends values, the last of which is recognisable, and returns when it has been received. */
  def of(peer: String): Origin = peer match {
    case "duologue"  => new Ours
    case "ZIO Queue" => new Zio
    case link        => new One(Link.of(link))
  }

  private final class Ours extends Origin {
    private val session = stream.init()
    private var server = session._1
    private var client = session._2
    private val done = new Line
    private var runs = 0L
    Beside.forever { () =>
      var receiving = server
      var last = 0L
      while (last == 0L) {
        val message = receiving.recv()
        last = message.value
        receiving = message.next
      }
      server = receiving
      done.write(last)
    }

    def run(count: Int): Long = {
      var own = client
      var i = 1
      while (i < count) {
        own = own.send(0L)
        i += 1
      }
      runs += 1
      client = own.send(runs)
      done.waitFor(runs)
      runs
    }
  }

  private final class One(link: Link[java.lang.Long]) extends Origin {
    private val done = new Line
    private val nothing = java.lang.Long.valueOf(0L)
    private var runs = 0L
    Beside.forever { () =>
      var last = 0L
      while (last == 0L) last = link.take().longValue
      done.write(last)
    }

    def run(count: Int): Long = {
      var i = 1
      while (i < count) {
        link.put(nothing)
        i += 1
      }
      runs += 1
      link.put(java.lang.Long.valueOf(runs))
      done.waitFor(runs)
      runs
    }
  }

  private final class Zio extends Origin {
    private val queue = OfZio.run(ZioQueue.bounded[Long](Link.Room))

    private def send(left: Int): ZIO[Any, Nothing, Unit] =
      if (left == 1) queue.offer(1L).unit else queue.offer(0L).flatMap(_ => send(left - 1))

    private def receive: ZIO[Any, Nothing, Long] = queue.take.flatMap(value => if (value == 1L) ZIO.succeed(value) else receive)

    def run(count: Int): Long = OfZio.run(receive.fork.flatMap(receiver => send(count) *> receiver.join))
  }
}
