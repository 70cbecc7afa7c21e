package cases

import java.util.concurrent.{Executors, TimeUnit}

/** Runs the two programs of a case, each in its thread. */
object Driver {

  def run(name: String, expected: String)(client: Transcript => Unit)(server: Transcript => Unit): Unit = {
    val transcript = new Transcript
    val threads = Executors.newFixedThreadPool(2, (task: Runnable) => {
      val thread = new Thread(task)
      thread.setDaemon(true)
      thread
    })
    val running = List(client, server).map(program => threads.submit((() => program(transcript)): Runnable))
    try running.foreach(program => program.get(60, TimeUnit.SECONDS): Unit)
    catch {
      case failure: Throwable =>
        throw new AssertionError(name + " failed; it had written\n" + transcript.text, failure)
    }
    threads.shutdown()
    if (transcript.text != expected)
      throw new AssertionError(name + " wrote\n" + transcript.text + "in place of\n" + expected)
  }

  /** Runs a program that makes a mistake, which must be reported as expected. */
  def throws(name: String, expected: String)(program: => Unit): Unit = {
    val told =
      try {
        program
        "nothing"
      } catch { case thrown: Throwable => thrown.toString }
    if (told != expected) throw new AssertionError(name + " threw " + told + "\nin place of " + expected)
  }
}
