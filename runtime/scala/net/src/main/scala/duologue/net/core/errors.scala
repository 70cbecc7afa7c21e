package duologue.net

import java.io.IOException

/** The peer has refused the session. `verdict` is that of `docs/wire.md`; if it is 18 or 20, another attempt may make
  * sense, after `waitMillis` milliseconds if that is not 0.
  */
final class Refused private[net] (val address: String, val verdict: Int, val waitMillis: Long)
    extends IOException("no session at " + address + ": " + Verdict.meaning(verdict))

/** There is no session: the address cannot be used, nothing listens there, or the listener does not answer as it should. */
final class ConnectFailed private[net] (val address: String, why: String, cause: Throwable)
    extends IOException("no session at " + address + ": " + why, cause)

/** The text is not an address: it has none of the forms `unix:PATH`, `tcp://HOST:PORT` and `tls://HOST:PORT`. */
final class AddressMalformed private[net] (address: String, why: String)
    extends IllegalArgumentException("`" + address + "` is not an address: " + why)
