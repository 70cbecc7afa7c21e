package duologue;

/** The peer of a session, in another process: what the operations of the near side, which is in this process, need of it. */
abstract class RemotePeer {
    /**
     * Sends a message of the near side, whose use has begun. Returns false if the session is over. Throws {@link PayloadRefused} if
     * the message cannot be sent; then nothing has happened.
     */
    abstract boolean send(int index, Object payload, long number, int then);

    /** Whether the near side may send without waiting, or the session is over. */
    abstract boolean hasSpace();

    /** Whether the near side had to wait for space when that was last checked. */
    abstract boolean isFull();

    /** Checks for what the near side waits for: a message, or the end of the session. Never waits. */
    abstract void poll();

    /** Whether this thread may {@link #await}. */
    abstract boolean mayAwait();

    /** Like {@link Side#await}, in a thread that may wait in the transport. */
    abstract Outcome await(long nanos, long deadline);

    /**
     * Makes the transport's thread watch for what the near side waits for. If it is already there, returns true instead. What
     * has been read before is delivered here, because no connection becomes ready for it.
     */
    abstract boolean arm();

    /** Writes what has been collected; if there is nothing and {@code isBeat} is set, writes a heartbeat. */
    public abstract void flush(boolean isBeat);

    /** The states of the protocol. */
    abstract WireState[] states();

    /** Why the session is over, once everything that arrived before is delivered; null until then. */
    abstract Reason why();

    /** What else is known about that, or null. */
    abstract String detail();
}
