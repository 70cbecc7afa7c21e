package duologue

/** The session is closed: by the peer, or by this side, if it is left in another thread while it is in use. `protocol` and `state` say
  * where, as the specification spells them.
  */
final class SessionClosed(val protocol: String, val state: String, val isByPeer: Boolean)
    extends RuntimeException(
      (if (isByPeer) "the peer" else "this side") + " closed the session in state `" + protocol + "." + state + "`"
    )

/** An endpoint was used a second time, or after its side was left. A mistake in the program: the endpoint to use is the one
  * that the first use gave.
  */
final class EndpointUsed private[duologue] (place: String, why: String)
    extends IllegalStateException("this endpoint of `" + place + "` " + why)
