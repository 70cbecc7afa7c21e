package duologue.net

import java.io.IOException

/** There is no session: the peer has refused it. `verdict` is that of `docs/wire.md`; if it is 18 or 20, another attempt may make
  * sense, after `waitMillis` milliseconds if that is not 0.
  */
final class Refused private[net] (val address: String, val verdict: Int, val waitMillis: Long)
    extends IOException("no session at " + address + ": " + Verdict.meaning(verdict))

/** There is no session: the address cannot be used, nothing listens there, or the listener does not answer as it should. */
final class ConnectFailed private[net] (val address: String, why: String, cause: Throwable)
    extends IOException("no session at " + address + ": " + why, cause)

/** An address is none: `unix:PATH`, `tcp://HOST:PORT` and `tls://HOST:PORT` are. */
final class AddressMalformed private[net] (address: String, why: String)
    extends IllegalArgumentException("`" + address + "` is no address: " + why)
