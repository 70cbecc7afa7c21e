package duologue;

/**
 * How long a side looks for what it waits for before it sleeps.
 *
 * <p>To sleep and to be woken costs a thread some microseconds, and many more where processors are virtual; so it is worth while to
 * look about as long, if the peer runs meanwhile. Whether it does is learnt from wait to wait: what came while the thread slept, but
 * so soon that looking would have been cheaper, makes the side look longer, as does what came while it gave way to nobody. What came when
 * it made room for another thread makes it look shorter, as does a wait that was long after all.
 *
 * <p>A virtual thread does not look, because its peer may need the carrier: it gives way once, and then it sleeps, which is cheap.
 *
 * <p>Only whoever has claimed the side touches this.
 */
final class Patience {
    /** How often to look at most. The property `duologue.spins` sets it. */
    static final int MOST = Integer.getInteger("duologue.spins", Runtime.getRuntime().availableProcessors() > 1 ? 2000 : 0);

    /** How often to look at several places, which costs more. */
    static final int FEW = Math.min(MOST, 64);

    static final int YIELDS = 2;

    private static final int LEAST = Math.min(MOST, 16);

    /** What looking may cost at most: about as much as to sleep and be woken. */
    private static final long SHORT = 50_000;

    /** Who gives way for less than this has given way to nobody. */
    private static final long SWITCH = 3_000;

    /** In a run the sender fills a cache line faster if the receiver does not ask for it between any two messages. */
    private static final int LONGEST_PAUSE = 16;

    /** How many waits of a virtual thread may pass without it giving way first. */
    private static final int MOST_DOUBT = 31;

    private static final long NEVER = Long.MIN_VALUE;

    private static final Class<?> VIRTUAL = virtual();

    private int budget = Math.min(MOST, 500);
    private long asleepAt = NEVER;
    private int doubt;
    private int left;

    /** The class of virtual threads; null if this Java has none. */
    private static Class<?> virtual() {
        try {
            return Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (ClassNotFoundException none) {
            return null;
        }
    }

    static boolean isVirtual() {
        return VIRTUAL != null && VIRTUAL.isInstance(Thread.currentThread());
    }

    /** Looks for what `seat` waits for: whether it is there. */
    boolean look(Seat seat) {
        if (seat.isReady()) {
            return true;
        }
        if (isVirtual()) {
            asleepAt = NEVER;
            return giveWay(seat);
        }
        if (spin(seat)) {
            return true;
        }
        long start = System.nanoTime();
        for (int i = 0; i < YIELDS && Yields.giveWay(); i++) {
            if (seat.isReady()) {
                learn(System.nanoTime() - start < SWITCH);
                return true;
            }
        }
        asleepAt = System.nanoTime();
        return false;
    }

    /**
     * Lets other virtual threads run on the carrier: the peer may be one of them, and then neither has to be woken. For every time in
     * vain it is left out more often.
     */
    private boolean giveWay(Seat seat) {
        if (left > 0) {
            left--;
            return false;
        }
        Thread.yield();
        boolean isReady = seat.isReady();
        doubt = isReady ? 0 : Math.min(MOST_DOUBT, 2 * doubt + 1);
        left = doubt;
        return isReady;
    }

    private boolean spin(Seat seat) {
        int pause = 1;
        boolean inRun = seat.isInRun();
        for (int spent = 0; spent < budget; spent += pause) {
            if (inRun && pause < LONGEST_PAUSE) {
                pause *= 2;
            }
            for (int i = 0; i < pause; i++) {
                Thread.onSpinWait();
            }
            if (seat.isReady()) {
                return true;
            }
        }
        return false;
    }

    /** What was looked for in vain has come, or the wait is over otherwise. */
    void slept() {
        if (asleepAt == NEVER) {
            return;
        }
        learn(System.nanoTime() - asleepAt < SHORT);
    }

    /** Looks longer from now on, if that would have been worth while, or less. */
    private void learn(boolean isWorthWhile) {
        budget = isWorthWhile ? Math.min(MOST, 2 * budget + 1) : Math.max(LEAST, budget / 2);
    }
}
