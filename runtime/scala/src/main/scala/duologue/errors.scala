package duologue

/** The session is closed: by the peer (`isByPeer`), or by this side, if it was abandoned in another thread while it was in use.
  * `protocol` and `state` say where, as spelled in the specification.
  */
final class SessionClosed(val protocol: String, val state: String, val isByPeer: Boolean)
    extends RuntimeException(
      (if (isByPeer) "the peer" else "this side") + " closed the session in state `" + protocol + "." + state + "`"
    )

/** An endpoint was used a second time, or after its side was abandoned. This is a bug in the program: the endpoint to use is the
  * one that the first use returned.
  */
final class EndpointUsed private[duologue] (place: String, why: String)
    extends IllegalStateException("this endpoint of `" + place + "` " + why)
