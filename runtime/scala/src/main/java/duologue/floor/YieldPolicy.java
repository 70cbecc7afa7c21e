package duologue;

/**
 * Whether to let other threads run before going to sleep.
 *
 * <p>If the peer is about to run on this processor, a yield hands the processor over for a fraction of what sleeping and being
 * woken cost. But the operating system may hand it to any thread: if other programs are busy, it comes back only after
 * milliseconds, while a sleeping thread gets to run soon after it is woken. So after a slow yield, no thread yields for 32 times as
 * long, and no more than a thirtieth of the time is lost by trying.
 *
 * <p>One instance is enough for all threads, since they share the processors. Its answer may be out of date, which does no harm.
 */
final class YieldPolicy {
    /**
     * A yield that takes longer than this, in nanoseconds, is slow. The value is below the time slice that the operating
     * system gives a thread that only computes, and above the time that a hundred threads need to each handle one message
     * and yield.
     */
    static final long SLOW = 1_000_000;

    static final int PAUSE = 32;

    private static final YieldPolicy ALL = new YieldPolicy();

    private static final Class<?> VIRTUAL = virtual();

    private volatile boolean isDoubted;
    private volatile long again;

    /** The class of virtual threads; null if this version of Java has none. */
    private static Class<?> virtual() {
        try {
            return Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (ClassNotFoundException none) {
            return null;
        }
    }

    /** Whether the calling thread is a virtual one. */
    static boolean isVirtual() {
        return VIRTUAL != null && VIRTUAL.isInstance(Thread.currentThread());
    }

    /** Lets other threads run. Returns false at once, without a yield, if this thread should sleep instead. */
    static boolean yieldUnlessSlow() {
        if (isVirtual()) {
            // The carrier is handed to virtual threads only.
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

    /** Whether to yield at the time {@code now} of {@link System#nanoTime}. */
    boolean arePromising(long now) {
        return !isDoubted || now - again >= 0;
    }

    /** Learns from a yield that began and ended at these times. */
    void learn(long start, long end) {
        long took = end - start;
        if (took > SLOW) {
            again = end + PAUSE * took;
            isDoubted = true;
        } else if (isDoubted) {
            isDoubted = false;
        }
    }
}
