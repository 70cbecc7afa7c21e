package duologue

/** What the tests of the adapters need to know about the runtime. */
object Probe {

  /** Whether there is a waiter for a message of this endpoint's side. */
  def waits(endpoint: Endpoint): Boolean = endpoint.$side.state.flags.waiter != null

  /** Whether there is a waiter for space. */
  def waitsForSpace(endpoint: Endpoint): Boolean = endpoint.$side.state.flags.spaceWaiter != null
}
