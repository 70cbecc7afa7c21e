package duologue.strict

/** A substitute for Scala 2, which has no `CanEqual`; it has no effect there. */
private[strict] trait CanEqual[-L, -R]

private[strict] object CanEqual {
  def derived: CanEqual[Any, Any] = new CanEqual[Any, Any] {}
}
