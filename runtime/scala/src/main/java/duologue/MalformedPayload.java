package duologue;

/** What a peer has sent does not have the format of {@code docs/wire.md}. */
public final class MalformedPayload extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The message says what is wrong. There is no stack trace, because the peer decides how often this is thrown. */
    public MalformedPayload(String message) {
        super(message, null, false, false);
    }
}
