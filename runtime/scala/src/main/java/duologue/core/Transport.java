package duologue;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * What carries the bytes of one session. None of its methods waits, except {@link #await}. {@link RemoteState} calls {@link #read} and
 * {@link #write} while it holds its lock, and no two at the same time.
 */
public interface Transport {
    /** Reads the available bytes. Returns their number, 0 if there are none, or -1 at the end of the stream. */
    int read(ByteBuffer into) throws IOException;

    /** Writes as much as possible without waiting. */
    int write(ByteBuffer from) throws IOException;

    /**
     * Waits until there is something to read or, with {@code forSpace}, until something can be written; until {@link #wake} is or
     * was called, the thread is interrupted (which stays pending), or this many nanoseconds have passed. May also return early.
     * Returns false if the calling thread has to wait for {@link RemoteState#ready}, as waits without a thread do.
     */
    boolean await(boolean forSpace, long nanos) throws IOException;

    /** Ends the current {@link #await}, or the next one. */
    void wake();

    /**
     * Calls {@link RemoteState#ready} once, in a thread of its own, when there is something to read, if {@code reads} is set, or when
     * something can be written, if {@code writes} is.
     */
    void arm(boolean reads, boolean writes);

    /** Calls {@link RemoteState#flush(boolean)} within a few milliseconds, in a thread of its own. */
    void collect();

    /** From now on calls {@link RemoteState#beat} several times per second, in a thread of its own, until the connection is closed. */
    void watchTime();

    /** Calls {@link RemoteState#shrink} after a second or so, and again as long as that returns true, in a thread of its own. */
    default void shrinkLater() {}

    /** Closes the connection. May be called more than once. */
    void close();
}
