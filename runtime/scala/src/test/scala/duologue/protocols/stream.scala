package duologue.protocols

/** A stream of values, written by hand in the form of generated code. The capacity is a parameter here, so that the tests can
  * also have a bounded one.
  */
object stream {

  def init[T](capacity: Int = 0): (server.Stream[T], client.Stream[T]) = {
    val start = _root_.duologue.generated.runtime_0_1.start("stream", capacity, clientSpeaks = true)
    (new server.Stream[T](start.server), new client.Stream[T](start.client))
  }

  sealed trait Stream[T]
  object Stream {
    final case class Send[T](value: T, next: server.Stream[T]) extends stream.Stream[T]
    final case class Swap[T](next: server.Back[T]) extends stream.Stream[T]
    final case class Stop[T]() extends stream.Stream[T]
  }

  sealed trait Back[T]
  object Back {
    final case class Swapped[T](next: client.Stream[T]) extends stream.Back[T]
  }

  object client {
    final class Stream[T] private[stream] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.SendEndpoint(previous) {
      def $state(): String = "stream"
      def send(value: T): Stream[T] = {
        val $moving = new _root_.duologue.generated.Moving
        _root_.duologue.generated.stay(this, 0, $moving.any(value), $moving)
        new Stream[T](this)
      }
      def swap(): Back[T] = {
        _root_.duologue.generated.turn(this, 1, null)
        new Back[T](this)
      }
      def stop(): Unit = _root_.duologue.generated.end(this, 2, null)
    }

    final class Back[T] private[stream] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.RecvEndpoint[stream.Back.Swapped[T]](previous) {
      def $state(): String = "back"
      protected def open(index: Int, payload: Any, number: Long): stream.Back.Swapped[T] = index match {
        case 0 => stream.Back.Swapped[T](new Stream[T](this))
        case _ => _root_.duologue.generated.unknown(index)
      }
    }
  }

  object server {
    final class Stream[T] private[stream] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.RecvEndpoint[stream.Stream[T]](previous) {
      def $state(): String = "stream"
      protected def open(index: Int, payload: Any, number: Long): stream.Stream[T] = index match {
        case 0 => stream.Stream.Send[T](payload.asInstanceOf[T], new Stream[T](this))
        case 1 => stream.Stream.Swap[T](new Back[T](this))
        case 2 => stream.Stream.Stop[T]()
        case _ => _root_.duologue.generated.unknown(index)
      }
    }

    final class Back[T] private[stream] (previous: _root_.duologue.Endpoint)
        extends _root_.duologue.SendEndpoint(previous) {
      def $state(): String = "back"
      def swapped(): Stream[T] = {
        _root_.duologue.generated.turn(this, 0, null)
        new Stream[T](this)
      }
    }
  }
}
