package duologue;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The time of heartbeats and of limits between processes, in nanoseconds like {@link System#nanoTime}, which tests turn forward. Not for
 * programs.
 */
public final class Clock {
    private static final AtomicLong AHEAD = new AtomicLong();

    private Clock() {}

    public static long now() {
        return System.nanoTime() + AHEAD.get();
    }

    /** For tests. */
    public static void turn(long nanos) {
        AHEAD.addAndGet(nanos);
    }
}
