package duologue

/** One side of a protocol, for sessions with other processes: `bank.client`, `bank.server`. Generated with `--remote`. */
abstract class Role {

  /** The first endpoint of this side. */
  type $First <: Endpoint

  /** For transports: the protocol, and how its messages are encoded. */
  def $protocol: WireProtocol

  /** For transports: whether this is the client's side. */
  def $isClient: Boolean

  /** For transports: the first endpoint of a session. */
  def $open(start: Endpoint): $First
}
