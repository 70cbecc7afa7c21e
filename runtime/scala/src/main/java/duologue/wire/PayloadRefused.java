package duologue;

/**
 * A message cannot be sent to another process: it is larger than the peer or the protocol's limits accept, or a value in it has no
 * encoding. Nothing was sent, the session continues, and the endpoint can be used again.
 */
public final class PayloadRefused extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    PayloadRefused(String message) {
        super(message);
    }
}
