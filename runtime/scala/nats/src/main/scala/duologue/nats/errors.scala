package duologue.nats

import java.io.IOException

/** A server was not announced or found. */
sealed abstract class DirectoryFailed(message: String, cause: Throwable = null) extends IOException(message, cause)

/** The NATS server cannot be reached, or does not accept the connection. */
final class Unreachable private[nats] (val server: String, cause: Throwable)
    extends DirectoryFailed(
      "cannot reach NATS at `" + server + "`: check that it runs there and accepts this program (" + cause.getMessage + ")",
      cause
    )

/** The NATS server does not permit something. `report` has the subject. */
final class NotPermitted private[nats] (val server: String, val report: String)
    extends DirectoryFailed(
      "NATS at `" + server + "` does not permit it: " + report + " (docs/wire.md, \"Finding servers with NATS\", lists what a user needs)"
    )

/** No server has announced this name for a protocol that the client understands. */
final class NoServers private[nats] (val name: String, subjects: Seq[String])
    extends DirectoryFailed(
      "no server has announced `" + name + "` for a protocol that this side understands: check that one is running, its name, and the output of " +
        "`duologue fingerprint` on both sides; asked on " + subjects.mkString(", ")
    )

/** Servers have announced this name, and none answered in time. */
final class AllBusy private[nats] (val name: String) extends DirectoryFailed("all servers of `" + name + "` are full or draining: try again later")
