package duologue

/** A wait without a thread, from [[whenReady]]. */
final class Wait private[duologue] (task: Group.Task) {

  /** Gives the wait up: its callback comes, if it has not come before. */
  def end(): Unit = task.giveUp()
}
