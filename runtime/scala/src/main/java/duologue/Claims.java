package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;

/**
 * The right to act for one side of a session. Endpoints come and go with every message; this knows the turn of the live one.
 *
 * <p>A claim is a CAS of the turn, so that of two uses of an endpoint, in whatever threads, one is refused. A thread that has
 * claimed the side many times in a row becomes its owner, and then only compares the turn: no other thread claims the side
 * before it has taken that ownership away. So uses that are ordered, one before the other, are always found; only a use
 * that another thread makes in the very moment in which the owner makes its own may be missed, and for that the other thread waits
 * for some hundred times as long as such a use takes before it claims. To miss none, the owner would have to make a fence in
 * each use, or the other thread to stop the owner, by asking for its stack, say; that takes a tenth of a millisecond, also where an
 * endpoint changes hands as it should.
 *
 * <p>An owner that has ended is in the middle of nothing, and nobody waits for it: all that it did comes before its end is seen. The thread
 * that comes after it owns the side with its second use, since it will probably stay, too. Where an owner that lives has to be waited for, the
 * next one has to claim twice as often before it becomes the owner, so that a side which goes to and fro between threads waits seldom.
 */
abstract class Claims extends Watch {
    /** An operation is under way. */
    private static final long BUSY = -2;

    private static final WeakReference<Thread> NOBODY = new WeakReference<>(null);
    /** How often in a row a thread claims before it becomes the owner, at least and at most. */
    private static final int OFTEN = 8;
    private static final int MOST_OFTEN = 1 << 20;
    /** How long to pause for an owner that may be in the middle of a use, in nanoseconds. */
    private static final long GRACE = 2_000;

    private static final VarHandle LIVE;
    private static final VarHandle OWNER;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            LIVE = lookup.findVarHandle(Claims.class, "live", long.class);
            OWNER = lookup.findVarHandle(Claims.class, "owner", WeakReference.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** The turn of the live endpoint, or BUSY. The owner reads and writes it plainly: while there is an owner nobody else writes it. */
    private long live;
    /**
     * The owning thread. Weakly, since a thread may hold the endpoint that must be found when it is forgotten; and not its
     * number, which a subclass of Thread may make up.
     */
    private volatile WeakReference<Thread> owner;
    /** The hash of the thread that claimed last, and how often in a row. If two threads have the same, the side changes owners. */
    private int last;
    private int streak;
    /** How long the streak has to be. */
    private int often = OFTEN;

    Claims(Side side) {
        super(side);
        // A fence, which a volatile store has, would be of no use to anybody yet.
        OWNER.set(this, NOBODY);
    }

    /** Begins a use that does not wait: `begin` may be followed by {@link #occupy}. Whether the endpoint of this turn is live. */
    final boolean begin(long turn) {
        return owner.refersTo(Thread.currentThread()) ? live == turn : compete(turn);
    }

    /** Marks the side as used for as long as a wait takes; it was begun. */
    final void occupy() {
        LIVE.setRelease(this, BUSY);
    }

    /** Whether the calling thread is the owner, and the endpoint of this turn is live. */
    final boolean owns(long turn) {
        return owner.refersTo(Thread.currentThread()) && live == turn;
    }

    /** Whether there is an owner. */
    final boolean isOwned() {
        return owner != NOBODY;
    }

    private boolean compete(long turn) {
        if (isOwned()) {
            return depose(turn);
        }
        if (!LIVE.compareAndSet(this, turn, BUSY)) {
            return false;
        }
        count();
        return true;
    }

    /** Claims the side of an owner. */
    private boolean depose(long turn) {
        boolean hasWaited = disown();
        if (!LIVE.compareAndSet(this, turn, BUSY)) {
            return false;
        }
        if (hasWaited) {
            often = Math.min(MOST_OFTEN, 2 * often);
        }
        count();
        if (!hasWaited) {
            streak = often - 1;
        }
        return true;
    }

    /** Counts how often in a row the calling thread has claimed, which makes it the owner in the end. */
    private void count() {
        Thread thread = Thread.currentThread();
        int hash = System.identityHashCode(thread);
        if (last != hash) {
            last = hash;
            streak = 0;
        } else if (++streak >= often) {
            own(thread);
        }
    }

    private void own(Thread thread) {
        if (!isOwned()) {
            streak = 0;
            owner = new WeakReference<>(thread);
        }
    }

    /** Takes the ownership away; whether the owner had to be waited for. */
    private boolean disown() {
        Thread thread = owner.get();
        owner = NOBODY;
        if (thread == null || !thread.isAlive()) {
            return false;
        }
        // By the clock: how long a spin-wait takes differs from processor to processor, and may be nothing.
        long start = System.nanoTime();
        while (System.nanoTime() - start < GRACE) {
            Thread.onSpinWait();
        }
        return true;
    }

    /** Takes the ownership away from whoever has it, for good if nobody can begin a use afterwards. */
    final void vacate() {
        owner = NOBODY;
    }

    /** Ends a use: the endpoint of this turn is live. */
    final void release(long turn) {
        LIVE.setRelease(this, turn);
    }

    /** Ends a use by which the endpoint goes over to somebody else, who may become the owner. */
    final void handOver(long turn) {
        owner = NOBODY;
        streak = 0;
        often = OFTEN;
        release(turn);
    }

    /** The turn of the live endpoint; below 0 while there is none. */
    final long turn() {
        return (long) LIVE.getAcquire(this);
    }
}
