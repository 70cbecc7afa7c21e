package duologue.strict

/** Stands where Scala 2 has no `CanEqual`, and says nothing there. */
private[strict] trait CanEqual[-L, -R]

private[strict] object CanEqual {
  def derived: CanEqual[Any, Any] = new CanEqual[Any, Any] {}
}
