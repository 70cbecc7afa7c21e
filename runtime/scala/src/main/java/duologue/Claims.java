package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The right to act for one side of a session. Endpoints come and go with every message; this knows the turn of the live one.
 *
 * <p>A claim is a CAS of the turn, so that of two uses of an endpoint, in whatever threads, one is refused. A thread that has
 * claimed the side many times in a row becomes its owner, and then only compares the turn: no other thread claims the side
 * before it has taken that ownership away for good. So uses that are ordered, one before the other, are always found; only a use
 * that another thread makes in the very moment in which the owner makes its own may be missed, and for that the other thread waits
 * for some hundred times as long as such a use takes, once, before it claims.
 */
abstract class Claims extends Padding {
    /** An operation is under way. */
    private static final long BUSY = -2;

    private static final long NOBODY = 0;
    /** There will be no owner again. */
    private static final long NEVER = -1;
    /** How often in a row a thread claims before it becomes the owner. */
    private static final int OFTEN = 64;
    /** How often to pause for an owner that may be in the middle of a use. */
    private static final int GRACE = 100;

    private static final VarHandle LIVE;

    static {
        try {
            LIVE = MethodHandles.lookup().findVarHandle(Claims.class, "live", long.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** The turn of the live endpoint, or BUSY. */
    private long live;
    /** The number of the owning thread. A number, since a thread may hold the endpoint that must be found when it is forgotten. */
    private volatile long owner;
    /** The thread that claimed last, and how often in a row. */
    private long last;
    private int streak;

    /** Begins a use that does not wait: `begin` may be followed by {@link #occupy}. Whether the endpoint of this turn is live. */
    final boolean begin(long turn) {
        return owner == Thread.currentThread().getId() ? live == turn : compete(turn);
    }

    /** Marks the side as used for as long as a wait takes; it was begun. */
    final void occupy() {
        LIVE.setRelease(this, BUSY);
    }

    /** Whether the calling thread is the owner, and the endpoint of this turn is live. */
    final boolean owns(long turn) {
        return owner == Thread.currentThread().getId() && live == turn;
    }

    /** Whether there is an owner. */
    final boolean isOwned() {
        return owner > NOBODY;
    }

    private boolean compete(long turn) {
        if (owner > NOBODY) {
            disown();
        }
        if (!LIVE.compareAndSet(this, turn, BUSY)) {
            return false;
        }
        long thread = Thread.currentThread().getId();
        if (last != thread) {
            last = thread;
            streak = 0;
        } else if (++streak >= OFTEN && owner == NOBODY) {
            owner = thread;
        }
        return true;
    }

    private void disown() {
        owner = NEVER;
        for (int i = 0; i < GRACE; i++) {
            Thread.onSpinWait();
        }
    }

    /** Ends a use: the endpoint of this turn is live. */
    final void release(long turn) {
        LIVE.setRelease(this, turn);
    }

    /** Ends a use by which the endpoint goes over to somebody else, who may become the owner. */
    final void handOver(long turn) {
        owner = NOBODY;
        last = NOBODY;
        release(turn);
    }

    /** The turn of the live endpoint; below 0 while there is none. */
    final long turn() {
        return (long) LIVE.getAcquire(this);
    }
}
