package duologue.strict

// Takes precedence over definitions in other files of the package, so Scala 3 finds its own `CanEqual`, and Scala 2, which has
// none, finds ours.
import scala._

/** Which values can be compared under strict equality, as in Scala 3 with `-language:strictEquality`. */
object Equality {

  /** Evidence that values of `T` can be compared with each other. */
  type Of[-T] = CanEqual[T, T]

  private[duologue] def any: CanEqual[Any, Any] = CanEqual.derived
}
