package duologue;

/** What a peer has sent does not have the format of {@code docs/wire.md}. */
public final class MalformedPayload extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Whether the payload has its format, and takes more memory than its reader allows. */
    final boolean isTooLarge;

    /** The message says what is wrong. There is no stack trace, because the peer decides how often this is thrown. */
    public MalformedPayload(String message) {
        this(message, false);
    }

    MalformedPayload(String message, boolean isTooLarge) {
        super(message, null, false, false);
        this.isTooLarge = isTooLarge;
    }
}
