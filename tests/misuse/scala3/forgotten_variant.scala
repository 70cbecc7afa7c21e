// warning: It would fail on pattern case: acme.files.fileServerTypes.Mode.Append(_)
package misuse.forgotten_variant

import acme.files.fileServerTypes.Mode

object Program {
  def isReading(mode: Mode): Boolean = mode match { // wrong
  // right: def isReading(mode: Mode): Boolean = mode match { case Mode.Append(_) => false
    case Mode.Read => true
  }
}
