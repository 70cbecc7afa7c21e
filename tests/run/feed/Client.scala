package cases.feed

import cases.Transcript
import cases.Transcript.{unexpected, unsigned}
import duologue.abandon
import protocols.feed
import protocols.stream

object Client {
  def run(endpoint: feed.client.Idle, transcript: Transcript): Unit = {
    val (primes, toPrimes) = stream.init[Long]()
    val next = endpoint.subscribe("primes", toPrimes).recv() match {
      case feed.Answer.Subscribed(next) =>
        transcript.line("client <- subscribed")
        next
      case other => unexpected(other)
    }
    var listening = primes
    for (_ <- 1 to 3) listening = number(listening, transcript)
    nothing(listening, transcript)
    val (rumours, toRumours) = stream.init[Long]()
    next.subscribe("rumours", toRumours).recv() match {
      case feed.Answer.UnknownTopic(back, next) =>
        transcript.line("client <- unknown_topic(<stream.client.Stream>)")
        val sent = back.send(7L)
        val last = number(rumours, transcript)
        abandon(sent)
        nothing(last, transcript)
        next.leave()
      case other => unexpected(other)
    }
  }

  private def number(endpoint: stream.server.Stream[Long], transcript: Transcript): stream.server.Stream[Long] = {
    val stream.Stream.Send(value, next) = endpoint.recv()
    transcript.line("client <- send(" + unsigned(value) + ")")
    next
  }

  private def nothing(endpoint: stream.server.Stream[Long], transcript: Transcript): Unit =
    endpoint.recvOrClosed() match {
      case Left(_)        => transcript.line("client <- closed")
      case Right(message) => unexpected(message)
    }
}
