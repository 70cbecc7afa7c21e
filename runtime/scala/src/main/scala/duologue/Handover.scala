package duologue

import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.{ExecutionContext, Promise}
import scala.util.{Failure, Success, Try}

/** What is the program's and runs in a thread that has nothing to do with it, which is often the peer's in the middle of an operation:
  * whatever it throws must neither reach that thread nor be lost.
  */
private[duologue] object Handover {

  /** Calls back. What `callback` throws goes to the handler of uncaught exceptions of the calling thread. */
  def call[T](callback: T => Unit, outcome: T): Unit =
    try callback(outcome)
    catch { case thrown: Throwable => Waiter.report(thrown) }

  /** Has `work` run by `executor`, or `refused` here, with what `executor` throws: one of them, once, whatever the executor does with what
    * it has refused. An executor that runs its work at once may throw what is not its own; then the work has begun, and answers itself.
    */
  def run(executor: ExecutionContext)(work: () => Unit)(refused: Throwable => Unit): Unit = {
    val hasBegun = new AtomicBoolean
    try executor.execute(() => if (hasBegun.compareAndSet(false, true)) work())
    catch { case thrown: Throwable => if (hasBegun.compareAndSet(false, true)) refused(thrown) else Waiter.report(thrown) }
  }

  /** Completes with what `result` gives or throws. */
  def complete[T](promise: Promise[T])(result: => T): Unit = {
    val outcome: Try[T] =
      try Success(result)
      catch { case thrown: Throwable => Failure(thrown) }
    promise.complete(outcome): Unit
  }
}
