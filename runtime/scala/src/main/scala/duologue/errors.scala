package duologue

/** The peer has left the session, or this side has. `protocol` and `state` say where, as the specification spells them. */
final class SessionClosed(val protocol: String, val state: String)
    extends RuntimeException("the peer closed the session in state `" + protocol + "." + state + "`")

/** An endpoint was used a second time, or after its side was left. A mistake in the program: the endpoint to use is the one
  * that the first use gave.
  */
final class EndpointUsed(place: String)
    extends IllegalStateException(
      "this endpoint of `" + place + "` was used before; go on with the endpoint that its first use returned"
    )
