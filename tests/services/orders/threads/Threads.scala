package gateway.onthreads

import java.lang.reflect.Method
import scala.concurrent.{Future, Promise}
import scala.util.Try

/** Virtual threads where the JDK has them, that is, from version 21 on. */
object Threads {
  private val virtual: Option[Method] = Try(classOf[Thread].getMethod("startVirtualThread", classOf[Runnable])).toOption

  def start(task: => Unit): Thread = {
    val runnable: Runnable = () => task
    virtual match {
      case Some(method) => method.invoke(null, runnable).asInstanceOf[Thread]
      case None         =>
        val thread = new Thread(runnable)
        thread.setDaemon(true)
        thread.start()
        thread
    }
  }

  /** What the calling thread is. */
  def kind: String = if (Thread.currentThread.toString.startsWith("VirtualThread")) "a virtual thread" else "a thread of the system"

  /** A thread with a result. */
  def call[A](task: => A): Future[A] = {
    val promise = Promise[A]()
    val _ = start {
      try { val _ = promise.success(task) }
      // Including fatal errors: otherwise the thread that waits would wait forever.
      catch { case thrown: Throwable => val _ = promise.failure(thrown) }
    }
    promise.future
  }
}
