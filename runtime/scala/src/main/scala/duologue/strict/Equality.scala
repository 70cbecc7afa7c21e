package duologue.strict

// Comes before what another file of the package defines: so Scala 3 finds its own `CanEqual`, and Scala 2, which has none, finds ours.
import scala._

/** Which values can be compared where a program is strict about it, as Scala 3 is with `-language:strictEquality`. */
object Equality {

  /** That values of `T` can be compared with each other. */
  type Of[-T] = CanEqual[T, T]

  private[duologue] def any: CanEqual[Any, Any] = CanEqual.derived
}
