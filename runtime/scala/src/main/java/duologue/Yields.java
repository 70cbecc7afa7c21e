package duologue;

/**
 * Whether to let other threads run before going to sleep.
 *
 * <p>If the peer is about to run on this processor, that hands it over for a fraction of what sleeping and being woken cost. But the
 * system hands it to anybody: where other programs compute, it comes back after milliseconds, while a thread that sleeps is let in soon
 * after it was woken. So after a dear yield there is none for 32 times as long, and no more than a thirtieth of the time is lost by
 * trying.
 *
 * <p>One is enough for all threads, since they share the processors. What it says may be late, and does no harm then.
 */
final class Yields {
    /**
     * What takes longer, in nanoseconds, is dear: less than the system lets a thread compute that does nothing else, and more than several
     * threads look for their messages before they sleep.
     */
    static final long DEAR = 500_000;

    static final int PAUSE = 32;

    private static final Yields ALL = new Yields();

    private volatile boolean isDoubted;
    private volatile long again;

    /** Lets other threads run. False, and at once, if this thread does better to sleep. */
    static boolean giveWay() {
        if (Patience.isVirtual()) {
            // Its carrier is handed to virtual threads only.
            Thread.yield();
            return true;
        }
        long start = System.nanoTime();
        if (!ALL.arePromising(start)) {
            return false;
        }
        Thread.yield();
        ALL.learn(start, System.nanoTime());
        return true;
    }

    /** Whether to yield, by the clock of {@link System#nanoTime}. */
    boolean arePromising(long now) {
        return !isDoubted || now - again >= 0;
    }

    /** After one that began and ended at these times. */
    void learn(long start, long end) {
        long took = end - start;
        if (took > DEAR) {
            again = end + PAUSE * took;
            isDoubted = true;
        } else if (isDoubted) {
            isDoubted = false;
        }
    }
}
