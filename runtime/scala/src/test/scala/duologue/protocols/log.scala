package duologue.protocols

/** A log whose endpoint many senders may share, written by hand in the form of generated code. */
object log {

  def init(): (server.Log, client.Log) = {
    val start = _root_.duologue.generated.runtime_0_1.start("log", 0, clientSpeaks = true)
    (new server.Log(start.server), new client.Log(start.client))
  }

  sealed trait Log
  object Log {
    final case class Line(from: Int, number: Int, next: server.Log) extends log.Log
    final case class Follow(numbers: stream.server.Stream[Int], next: server.Log) extends log.Log
    final case class Both(one: stream.server.Stream[Int], other: stream.server.Stream[Int], next: server.Log) extends log.Log
  }

  object client {
    final class Log private[log] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.SendEndpoint(previous)
        with _root_.duologue.Shareable {
      def $state(): String = "log"
      def line(from: Int, number: Int): Log = {
        _root_.duologue.generated.u8("from", from)
        _root_.duologue.generated.stay(this, 0, (from, number))
        new Log(this)
      }
      def follow(numbers: stream.server.Stream[Int]): Log = {
        val $moving = new _root_.duologue.generated.Moving
        _root_.duologue.generated.stay(this, 1, $moving.take(numbers), $moving)
        new Log(this)
      }
      def both(one: stream.server.Stream[Int], other: stream.server.Stream[Int]): Log = {
        val $moving = new _root_.duologue.generated.Moving
        _root_.duologue.generated.stay(this, 2, ($moving.take(one), $moving.take(other)), $moving)
        new Log(this)
      }
    }
  }

  object server {
    final class Log private[log] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.RecvEndpoint[log.Log](previous) {
      def $state(): String = "log"
      protected def open(index: Int, payload: Any, number: Long): log.Log = index match {
        case 0 =>
          val values = payload.asInstanceOf[(Int, Int)]
          log.Log.Line(values._1, values._2, new Log(this))
        case 1 => log.Log.Follow(payload.asInstanceOf[stream.server.Stream[Int]], new Log(this))
        case 2 =>
          val values = payload.asInstanceOf[(stream.server.Stream[Int], stream.server.Stream[Int])]
          log.Log.Both(values._1, values._2, new Log(this))
        case _ => _root_.duologue.generated.unknown(index)
      }
    }
  }
}
