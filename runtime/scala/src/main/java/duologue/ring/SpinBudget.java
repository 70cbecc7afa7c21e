package duologue;

/**
 * How long a side spins before it sleeps.
 *
 * <p>Sleeping and being woken costs a thread several microseconds, and many more on virtual processors, so it is worthwhile to
 * spin for about that long if the peer is running meanwhile. Whether it is running is learned from wait to wait. If what the side
 * waits for arrives while the thread sleeps, but so soon that spinning would have been cheaper, the side spins longer in later
 * waits; likewise if it arrives during a yield in which no other thread ran. If it arrives during a yield in which another thread
 * ran, or if the wait turned out to be long, the side spins less.
 *
 * <p>A virtual thread does not spin, because its peer may need the carrier: it yields once and then sleeps, which is cheap.
 *
 * <p>Only the thread that has claimed the side accesses this object.
 */
final class SpinBudget {
    /** How many times to spin at most. Set by the system property {@code duologue.spins}. */
    static final int MOST = Integer.getInteger("duologue.spins", Runtime.getRuntime().availableProcessors() > 1 ? 2000 : 0);

    /** How many times to spin in a wait for several endpoints, whose checks cost more. */
    static final int FEW = Math.min(MOST, 64);

    static final int YIELDS = 2;

    private static final int LEAST = Math.min(MOST, 16);

    /** The most that spinning may cost, in nanoseconds: about as much as sleeping and being woken. */
    private static final long SHORT = 50_000;

    /** A yield that takes less than this, in nanoseconds, has let no other thread run. */
    private static final long SWITCH = 3_000;

    /**
     * The most spins between two checks in a run: the sender fills a cache line faster if the receiver does not request the line
     * after every message.
     */
    private static final int LONGEST_PAUSE = 16;

    /** The most waits in a row for which a virtual thread skips the yield. */
    private static final int MOST_DOUBT = 31;

    private static final long NEVER = Long.MIN_VALUE;

    private int budget = Math.min(MOST, 500);
    private long asleepAt = NEVER;
    private int doubt;
    private int left;

    /** Spins and yields until {@code state} is ready. Returns whether it is. */
    boolean look(Cursor state) {
        if (state.isReady()) {
            return true;
        }
        if (YieldPolicy.isVirtual()) {
            asleepAt = NEVER;
            return yieldUnlessSlow(state);
        }
        if (spin(state)) {
            return true;
        }
        long start = System.nanoTime();
        for (int i = 0; i < YIELDS && YieldPolicy.yieldUnlessSlow(); i++) {
            if (state.isReady()) {
                learn(System.nanoTime() - start < SWITCH);
                return true;
            }
        }
        asleepAt = System.nanoTime();
        return false;
    }

    /**
     * Lets other virtual threads run on the carrier: the peer may be one of them, and then neither thread has to be woken. After
     * each yield without success, the yield is skipped for more waits.
     */
    private boolean yieldUnlessSlow(Cursor state) {
        if (left > 0) {
            left--;
            return false;
        }
        Thread.yield();
        boolean isReady = state.isReady();
        doubt = isReady ? 0 : Math.min(MOST_DOUBT, 2 * doubt + 1);
        left = doubt;
        return isReady;
    }

    private boolean spin(Cursor state) {
        int pause = 1;
        boolean inRun = state.isInRun();
        for (int spent = 0; spent < budget; spent += pause) {
            if (inRun && pause < LONGEST_PAUSE) {
                pause *= 2;
            }
            for (int i = 0; i < pause; i++) {
                Thread.onSpinWait();
            }
            if (state.isReady()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Called after {@link #look} has returned false, when what the side waits for has arrived or the wait has ended otherwise.
     */
    void slept() {
        if (asleepAt == NEVER) {
            return;
        }
        learn(System.nanoTime() - asleepAt < SHORT);
    }

    /** Makes later waits spin longer if that would have been worthwhile, and less otherwise. */
    private void learn(boolean isWorthWhile) {
        budget = isWorthWhile ? Math.min(MOST, 2 * budget + 1) : Math.max(LEAST, budget / 2);
    }
}
