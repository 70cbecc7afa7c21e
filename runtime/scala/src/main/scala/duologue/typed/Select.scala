package duologue

import java.util.Objects
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.concurrent.duration.FiniteDuration

/** Several endpoints, which may be of different protocols and states; the first to be ready is
  * used.
  *
  * {{{
  * val total = Select(
  *   orders.on { case shop.Order.Order(item, next) => count(item, next) },
  *   clock.on { case clock.Tick.Tick(next) => report(next) }
  * ).recv()
  * }}}
  *
  * It has the same forms of receiving as a single endpoint, and returns what the handler of the chosen endpoint returns.
  * Handlers run in the thread that receives, after the wait is over. The search begins at a random endpoint: endpoints that are
  * all ready are chosen equally often. Endpoints that were not chosen stay as they are; the chosen one is consumed. While a
  * select waits, its endpoints cannot be used elsewhere; if a side is abandoned in the meantime, it is chosen as closed.
  *
  * Each wait checks all endpoints. For many endpoints, [[PortSet]] is the better choice.
  */
final class Select[+R] private (cases: Array[Select.Case[Any]]) {

  /** Waits until an endpoint is ready. Throws [[SessionClosed]] if its session is closed and its handler accepts only messages,
    * `InterruptedException` if the thread is interrupted first, and [[EndpointUsed]] if an endpoint was already used; in the
    * last two cases no other endpoint is consumed.
    */
  def recv(): R = arrives(-1L) match {
    case Some(handle) => handle()
    case None         => throw new AssertionError("a wait without a time limit has timed out")
  }

  /** Like `recv`, but never waits. `None` means that no endpoint is ready. */
  def tryRecv(): Option[R] = arrives(0L).map(handle => handle())

  /** Like `recv`, but waits at most `timeout`. `None` means that no endpoint was ready in time. */
  def recvWithin(timeout: FiniteDuration): Option[R] = arrives(math.max(0L, timeout.toNanos)).map(handle => handle())

  /** Like `recv`, without blocking a thread. The message is received and the handler runs in `executor`. If the executor
    * rejects this, the future fails with what it threw, and all endpoints are as they were. Throws [[EndpointUsed]] at once if an
    * endpoint was already used.
    */
  def recvAsync()(implicit executor: ExecutionContext): Future[R] = {
    val promise = Promise[R]()
    val task = new Group.Task(ends) { chosen =>
      def chose(): Unit = Handover.run(executor)(() => Handover.complete(promise)(Select.this.take(chosen)())) { refused =>
        unchoose()
        promise.failure(refused): Unit
      }
    }
    claim(task)
    task.start()
    promise.future
  }

  /** Calls back once when an endpoint is ready, at once if one is, with a function that runs the endpoint's handler. The message
    * has been received by then. Otherwise `callback` runs in the thread that makes the endpoint ready or, occasionally in a long
    * run, in the common pool of the Java library, so it must not wait. What it throws goes to the uncaught exception handler of
    * that thread. Throws [[EndpointUsed]] if an endpoint was already used.
    */
  def readyThen(callback: (() => R) => Unit): Unit = {
    Objects.requireNonNull(callback, "callback"): Unit
    val task = new Group.Task(ends) {
      def chose(): Unit = Handover.call(callback, take(this))
    }
    claim(task)
    task.start()
  }

  /** For adapters: calls back once when an endpoint is ready or its own side was abandoned, with all endpoints as they were. The
    * callback is called where that of `readyThen` would be, or by [[Wait.end]].
    */
  private[duologue] def whenReady(callback: () => Unit): Wait = {
    val task = new Group.Task(ends) {
      def chose(): Unit = {
        unchoose()
        callback()
      }
      override def gaveUp(): Unit = callback()
    }
    // An endpoint that cannot be claimed is reported by `peek`.
    if (task.claim() >= 0) callback() else task.start()
    new Wait(() => task.giveUp())
  }

  /** For adapters: an endpoint that is ready, without using it, as a function that takes what is there and returns what its handler
    * returns. An endpoint whose own side was abandoned is chosen as closed. The first part says whether there is a message: then the
    * function throws only what the handler throws, unless the side is abandoned in the meantime.
    */
  private[duologue] def peek(): Option[(Boolean, () => R)] = {
    val group = new Group(ends)
    val used = group.claim()
    if (used < 0) {
      if (group.await(0L) == Outcome.READY) {
        group.unchoose()
        Some(hasMessage(group.chosen) -> (() => takeFrom(group.chosen)))
      } else None
    } else if (wasLeft(cases(used).endpoint)) Some(false -> (() => takeFrom(used)))
    else throw Endpoint.used(cases(used).endpoint)
  }

  private def hasMessage(at: Int): Boolean = cases(at).endpoint match {
    case endpoint: RecvEndpoint[_] => !wasLeft(endpoint) && endpoint.hasMessage
    case _                         => false
  }

  private def takeFrom(at: Int): R = {
    val choice = cases(at)
    val isClaimed = choice.endpoint.$claim()
    if (!isClaimed && !wasLeft(choice.endpoint)) throw Endpoint.used(choice.endpoint)
    choice.take(!isClaimed)().asInstanceOf[R]
  }

  private def ends: Array[Handle] = cases.map(choice => choice.endpoint: Handle)

  private def arrives(nanos: Long): Option[() => R] = {
    val group = new Group(ends)
    claim(group)
    group.await(nanos) match {
      case Outcome.INTERRUPTED => throw new InterruptedException()
      case Outcome.TIMEOUT     => None
      case _                        => Some(take(group))
    }
  }

  private def claim(group: Group): Unit = {
    val used = group.claim()
    if (used >= 0) throw Endpoint.used(cases(used).endpoint)
  }

  // The cases are `Case[R]`: the array says `Any` only because arrays are invariant.
  private def take(group: Group): () => R = cases(group.chosen).take(group.isLeft).asInstanceOf[() => R]
}

object Select {

  /** One endpoint of a select and its handler, from `endpoint.on`, `endpoint.onOrClosed`, [[writable]] or
    * [[writableOrClosed]]. */
  final class Case[+R] private[duologue] (
      private[duologue] val endpoint: Endpoint,
      private[duologue] val take: Boolean => () => R
  ) {

    /** The same endpoint, with `change` applied to the result of its handler. */
    def map[S](change: R => S): Case[S] = {
      Objects.requireNonNull(change, "change"): Unit
      new Case(endpoint, left => {
        val handle = take(left)
        () => change(handle())
      })
    }
  }

  /** A select of these endpoints. */
  def apply[R](first: Case[R], more: Case[R]*): Select[R] = from(first +: more)

  /** A select of any number of endpoints. Throws `IllegalArgumentException` if there are none, because waiting for them would
    * never end.
    */
  def from[R](cases: Iterable[Case[R]]): Select[R] = {
    if (cases.isEmpty) throw new IllegalArgumentException("there is no endpoint to wait for")
    new Select(cases.toArray[Case[Any]])
  }

  /** A sending endpoint in a select. It is ready when a message can be sent without waiting, which `message` then does.
    *
    * {{{
    * Select.writable(client)(_.send(4L))
    * }}}
    */
  def writable[E <: SendEndpoint, R](endpoint: E)(message: E => R): Case[R] = {
    Objects.requireNonNull(endpoint, "endpoint"): Unit
    Objects.requireNonNull(message, "message"): Unit
    new Case(endpoint, left => {
      if (!left) endpoint.$restore()
      () => if (left) throw Endpoint.closed(endpoint) else message(endpoint)
    })
  }

  /** Like [[writable]], but the handler's result is [[SessionClosed]], as a value, if the session is closed. */
  def writableOrClosed[E <: SendEndpoint, R](endpoint: E)(message: E => R): Case[Either[SessionClosed, R]] = {
    Objects.requireNonNull(message, "message"): Unit
    val sends = writable(endpoint)(message)
    new Case(endpoint, left => {
      val handle = sends.take(left)
      () => SessionClosed.caught(handle())
    })
  }
}
