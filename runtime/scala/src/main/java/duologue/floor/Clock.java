package duologue;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The time of heartbeats and of limits between processes, in nanoseconds like {@link System#nanoTime}, which tests turn forward. Not for
 * programs.
 */
public final class Clock {
    private static final AtomicLong AHEAD = new AtomicLong();
    /** What it shows while a test has stopped it. Otherwise 0. */
    private static volatile long stoppedAt;

    private Clock() {}

    public static long now() {
        long stopped = stoppedAt;
        return stopped != 0 ? stopped : System.nanoTime() + AHEAD.get();
    }

    /** For tests. */
    public static void turn(long nanos) {
        if (stoppedAt == 0) {
            AHEAD.addAndGet(nanos);
        } else {
            stoppedAt += nanos;
        }
    }

    /** For tests: from now on only {@link #turn} changes what it shows. */
    public static void stop() {
        stoppedAt = now();
    }

    /** For tests: it goes on from what it shows. */
    public static void resume() {
        AHEAD.addAndGet(stoppedAt - System.nanoTime() - AHEAD.get());
        stoppedAt = 0;
    }
}
