package duologue;

/**
 * What a remote state reports to its transport, for observers. {@link #message} and {@link #ended} are called under the
 * lock of the remote state, in order, and must not call the program's own code. {@link #report} is called without it, soon after them.
 */
public interface SessionEvents {
    /** The session's number, from {@link SessionNumber#next}. */
    long number();

    /**
     * A message of {@code state} was sent, or has arrived and is valid. {@code bytes} is the size of its frame. With {@code isTurn} the
     * direction changes with it, or the protocol is over.
     */
    void message(WireState state, int index, boolean isSent, long bytes, boolean isTurn);

    /**
     * The session has ended for the near side. {@code why} is a number for {@code Why.of}, {@code detail} may be null, and {@code state} is
     * the one in which it has ended early, or null after the protocol's last message.
     */
    void ended(int why, String detail, WireState state);

    /** Something may have been reported by the other methods. */
    void report();
}
