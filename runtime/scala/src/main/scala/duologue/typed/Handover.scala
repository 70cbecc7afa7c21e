package duologue

import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.{ExecutionContext, Promise}
import scala.util.{Failure, Success, Try}
import scala.util.control.NoStackTrace

/** Runs the program's own code in an unrelated thread, often the peer's in the middle of an operation. An exception from that
  * code must neither reach that operation nor be lost.
  */
private[duologue] object Handover {

  /** Thrown inside an adapter's effect to try again later. */
  object NotYet extends RuntimeException with NoStackTrace

  /** Calls back. What `callback` throws goes to the uncaught exception handler of the calling thread. */
  def call[T](callback: T => Unit, outcome: T): Unit = guarded(callback(outcome))

  /** Runs code of the program. What it throws goes to the uncaught exception handler of the calling thread. */
  def guarded(body: => Unit): Unit =
    try body
    catch { case thrown: Throwable => Waiter.report(thrown) }

  /** Makes `executor` run `work`, or runs `refused` here with what `executor` throws: only one of the two, once, whatever the
    * executor does with work that it has rejected. An executor that runs its work at once may throw an exception that is not its
    * own; then the work has begun, and reports its own result.
    */
  def run(executor: ExecutionContext)(work: () => Unit)(refused: Throwable => Unit): Unit = {
    val hasBegun = new AtomicBoolean
    try executor.execute(() => if (hasBegun.compareAndSet(false, true)) work())
    catch { case thrown: Throwable => if (hasBegun.compareAndSet(false, true)) refused(thrown) else Waiter.report(thrown) }
  }

  /** Completes `promise` with what `result` returns or throws. */
  def complete[T](promise: Promise[T])(result: => T): Unit = {
    val outcome: Try[T] =
      try Success(result)
      catch { case thrown: Throwable => Failure(thrown) }
    promise.complete(outcome): Unit
  }
}
