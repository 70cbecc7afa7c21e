package duologue

import java.time.Duration
import java.util.Optional
import java.util.concurrent.{CompletionStage, Executor}
import java.util.function.{Consumer, Function}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.jdk.FutureConverters.FutureOps
import scala.jdk.OptionConverters.RichOption

/** For Java: the functions of this package as static methods, with the types of Java's library. Scala programs use those of the package
  * and of the endpoints.
  */
object Duologue {

  /** See [[duologue.abandon]]. */
  def abandon(endpoint: Endpoint): Unit = duologue.abandon(endpoint)

  /** For a `try` with resources: closes the session of `endpoint` through whichever endpoint of its side is live then. */
  def closing(endpoint: Endpoint): AutoCloseable = () => duologue.abandon(endpoint)

  /** See [[duologue.flush]]. */
  def flush(endpoint: Endpoint): Unit = duologue.flush(endpoint)

  /** See `tryRecv` of [[RecvEndpoint]]. */
  def tryRecv[M](endpoint: RecvEndpoint[M]): Optional[M] = endpoint.tryRecv().toJava

  /** See `recvWithin` of [[RecvEndpoint]]. */
  def recvWithin[M](endpoint: RecvEndpoint[M], timeout: Duration): Optional[M] = endpoint.recvWithin(finite(timeout)).toJava

  /** See `recvAsync` of [[RecvEndpoint]]. */
  def recvAsync[M](endpoint: RecvEndpoint[M]): CompletionStage[M] = endpoint.recvAsync().asJava

  /** See [[duologue.trySend]]. */
  def trySend[E <: SendEndpoint, R](endpoint: E, message: Function[E, R]): Optional[R] =
    duologue.trySend(endpoint)(message(_)).toJava

  /** See [[duologue.sendWithin]]. */
  def sendWithin[E <: SendEndpoint, R](endpoint: E, timeout: Duration, message: Function[E, R]): Optional[R] =
    duologue.sendWithin(endpoint, finite(timeout))(message(_)).toJava

  /** See [[duologue.sendAsync]]. */
  def sendAsync[E <: SendEndpoint, R](endpoint: E, executor: Executor, message: Function[E, R]): CompletionStage[R] =
    duologue.sendAsync(endpoint)(message(_))(ExecutionContext.fromExecutor(executor)).asJava

  /** See [[duologue.service]]. */
  def service[S <: Endpoint, C <: Endpoint](session: (S, C), executor: Executor, serve: Consumer[S]): C =
    duologue.service(session)(serve.accept(_))(ExecutionContext.fromExecutor(executor))

  /** See [[duologue.within]]. */
  def within[E <: Endpoint, R](endpoint: E, limit: Duration, dialogue: Function[E, R]): Optional[R] =
    duologue.within(endpoint, finite(limit))(dialogue(_)).toJava

  /** See [[duologue.abandonAfter]]. */
  def abandonAfter(endpoint: Endpoint, limit: Duration): AutoCloseable = duologue.abandonAfter(endpoint, finite(limit))

  /** The value of a `bytes`, copied from an array. */
  def bytes(array: Array[Byte]): Bytes = Bytes.copyOf(array)

  /** As much of a duration as fits into nanoseconds. */
  private[duologue] def finite(duration: Duration): FiniteDuration =
    if (duration.isNegative) 0L.nanos
    else if (duration.compareTo(Duration.ofNanos(Long.MaxValue)) < 0) duration.toNanos.nanos
    else Long.MaxValue.nanos
}
