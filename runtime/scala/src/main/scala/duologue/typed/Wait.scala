package duologue

/** A wait that blocks no thread, started by [[whenReady]]. */
final class Wait private[duologue] (giveUp: () => Unit) {

  /** Ends the wait: its callback is called, if it has not been called before. */
  def end(): Unit = giveUp()
}
