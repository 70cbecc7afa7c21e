package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;

/**
 * The right to act for one side of a session. Every message replaces the endpoint; this class records the turn of the live one.
 *
 * <p>A claim is a CAS of the turn, so of two uses of one endpoint, in any threads, one is refused. A thread that has claimed the
 * side many times in a row becomes its owner, and from then on only compares the turn: no other thread claims the side before it
 * has taken the ownership away. So a second use that is ordered after the first is always detected. Only the live endpoint takes
 * ownership away: a use with any other turn is refused before that.
 *
 * <h2>A use that overlaps the owner's</h2>
 *
 * Such an overlap is a bug in the program, and the only case in which two uses of one endpoint can both begin. The other thread
 * takes the ownership away, executes a fence, and pauses for about a hundred times as long as a use takes. Then it claims the
 * turn. If the owner has ended its use by then, it has stored the next turn, and the claim fails. The operating system may have
 * suspended the owner in the meantime, for any length of time; then the claim succeeds, and both threads write the same fields.
 * Therefore the owner reads {@link #owner} once more, after it has stored the result of its use in {@link #live}. If it has lost
 * the side, it cannot know how far the other thread has got: the session is broken off, and the use is refused, although it may
 * have taken effect. Both the thread that is refused and the thread that continues find the side abandoned. After that, what the
 * two did to the fields does no harm. Exceptions that the virtual machine throws in either thread in the meantime (an index out
 * of bounds, a null reference) are caught and treated in the same way.
 *
 * <p>The owner executes no fence between its store and its second read of {@code owner}, so the read may take effect first:
 * either the processor delays the store, which takes a fraction of the pause, or the compiler has reordered the two and the
 * operating system suspends the thread exactly between them. The case that remains is an owner whose read comes before the other
 * thread's fence, and whose store comes after the pause. Then both uses continue as if each were the only one: a message may be
 * lost or duplicated, a side may wait for a message that never arrives, and neither use is refused. To rule that out, the owner
 * would need a fence in every use, or the other thread would have to stop the owner, for example by requesting its stack trace.
 * The latter takes a tenth of a millisecond, even when an endpoint changes hands correctly.
 *
 * <p>An owner thread that has terminated is not in the middle of a use, and no thread pauses for it: everything it did happens
 * before its termination is observed. The next thread to claim the side becomes the owner with its second use, since it will
 * probably keep the side too. After each pause for a live owner, the next owner has to claim the side twice as often in a row, so
 * a side that moves back and forth between threads rarely causes a pause.
 */
abstract class Ownership extends Watch {
    /** An operation is in progress. */
    private static final long BUSY = -2;

    private static final WeakReference<Thread> NOBODY = new WeakReference<>(null);
    /** Stored in place of a live owner while a thread pauses for it. Other threads that arrive meanwhile pause too. */
    private static final WeakReference<Thread> DEPOSED = new WeakReference<>(null);
    /** How many times in a row a thread claims the side before it becomes the owner: minimum and maximum. */
    private static final int OFTEN = 8;
    private static final int MOST_OFTEN = 1 << 20;
    /** How long to pause for an owner that may be in the middle of a use, in nanoseconds. */
    private static final long GRACE = 2_000;

    private static final VarHandle LIVE;
    private static final VarHandle OWNER;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            LIVE = lookup.findVarHandle(Ownership.class, "live", long.class);
            OWNER = lookup.findVarHandle(Ownership.class, "owner", WeakReference.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /**
     * The turn of the live endpoint, or BUSY. The owner reads it with a plain read: while there is an owner, no other thread
     * writes it.
     */
    private long live;
    /**
     * The owning thread. The reference is weak because the thread may hold the endpoint, which the collector must be able to find
     * when it is forgotten. The thread's id would not do, because a subclass of Thread can make one up.
     */
    private volatile WeakReference<Thread> owner;
    /**
     * The hash of the thread that claimed last, and the number of its consecutive claims. A collision of two hashes only makes
     * the side change owners.
     */
    private int last;
    private int streak;
    /** The streak that is required to become the owner. */
    private int often = OFTEN;
    /** Whether ownership was ever taken away from a live thread; never reset. */
    private volatile boolean contested;

    Ownership(Object side) {
        super(side);
        // A plain store: the fence of a volatile store would serve no purpose yet.
        OWNER.set(this, NOBODY);
    }

    /** Whether the calling thread is the owner. */
    final boolean isMine() {
        return owner.refersTo(Thread.currentThread());
    }

    /**
     * Begins a use that does not wait; {@link #hold} may follow. Returns whether the endpoint of this turn is live. {@code owned}
     * is what {@link #isMine} has just returned, and is also passed to the method that ends the use: an owner's use has to end
     * with a check that the thread still is the owner.
     */
    final boolean begin(long turn, boolean owned) {
        return owned ? live == turn : compete(turn);
    }

    /**
     * Marks the side as in use for the duration of a wait. The use has begun. From here on it is not an owner's use, and may end
     * in any thread. Returns false if the calling thread has lost its ownership.
     */
    final boolean hold(boolean owned) {
        if (!owned) {
            return true;
        }
        LIVE.setRelease(this, BUSY);
        return isMine();
    }

    /** Whether the calling thread is the owner, and the endpoint of this turn is live. */
    final boolean owns(long turn) {
        return isMine() && live == turn;
    }

    /** The owner, or the placeholder if there is none. */
    final WeakReference<Thread> owner() {
        return owner;
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

    /** Whether a use may have overlapped an owner's use of this side. */
    final boolean isContested() {
        return contested;
    }

    /** Claims a side that has an owner. */
    private boolean depose(long turn) {
        boolean hasWaited = false;
        for (WeakReference<Thread> seen = owner; seen != NOBODY; seen = owner) {
            if (turn() != turn) {
                return false;
            }
            hasWaited |= disown(seen);
        }
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

    /** Counts the consecutive claims of the calling thread, and makes it the owner once there are enough. */
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

    /**
     * Takes the ownership away from this owner, unless another thread has done so in the meantime. Returns whether the caller had
     * to pause for the owner. The CAS ensures that a thread that is suspended after it has read {@code seen} takes nothing from a
     * newer owner, for which it has not paused.
     */
    final boolean disown(WeakReference<Thread> seen) {
        Thread thread = seen.get();
        if (seen != DEPOSED && (thread == null || !thread.isAlive())) {
            OWNER.compareAndSet(this, seen, NOBODY);
            return false;
        }
        contested = true;
        if (seen != DEPOSED && !OWNER.compareAndSet(this, seen, DEPOSED)) {
            return false;
        }
        // Measured by the clock, because the duration of onSpinWait differs between processors and may be zero.
        long start = System.nanoTime();
        while (System.nanoTime() - start < GRACE) {
            Thread.onSpinWait();
        }
        OWNER.compareAndSet(this, DEPOSED, NOBODY);
        return true;
    }

    /** Takes the ownership away from any owner; for good, if no use can begin afterwards. */
    final void vacate() {
        owner = NOBODY;
    }

    /**
     * Makes the endpoint of this turn live. That ends a use, unless it is an owner's, which has to check its ownership
     * afterwards.
     */
    final void release(long turn) {
        LIVE.setRelease(this, turn);
    }

    /** Ends a use by which the endpoint is passed on to a new holder, whose thread may become the owner. */
    final void handOver(long turn) {
        owner = NOBODY;
        streak = 0;
        often = OFTEN;
        release(turn);
    }

    /** The turn of the live endpoint; negative while there is none. */
    final long turn() {
        return (long) LIVE.getAcquire(this);
    }
}
