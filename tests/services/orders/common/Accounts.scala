package gateway

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** Who may trade. A real gateway would ask a directory for this. */
object Accounts {
  private val tokens = Map("ada" -> "engine", "blaise" -> "wager", "grace" -> "compiler")

  /** Takes the same time for every token of the same length. */
  def admits(account: String, token: String): Boolean =
    tokens.get(account).exists(right => MessageDigest.isEqual(right.getBytes(UTF_8), token.getBytes(UTF_8)))
}
