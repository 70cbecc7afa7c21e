package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;

/**
 * The right to act for one side of a session. Endpoints come and go with every message; this knows the turn of the live one.
 *
 * <p>A claim is a CAS of the turn, so that of two uses of an endpoint, in whatever threads, one is refused. A thread that has
 * claimed the side many times in a row becomes its owner, and then only compares the turn: no other thread claims the side
 * before it has taken that ownership away. So uses that are ordered, one before the other, are always found, and only the live
 * endpoint takes ownership away: with any other turn a use is refused before.
 *
 * <h2>A use in the middle of the owner's</h2>
 *
 * That is a mistake of the program, and the only case in which two uses of one endpoint can both begin. The other thread takes the ownership
 * away, makes a fence, and pauses for some hundred times as long as a use takes. Then it claims the turn. An owner that has ended its use by
 * then has stored the next turn: the claim fails. The system may have stopped the owner meanwhile, for however long; then the claim succeeds,
 * and the two write the same fields. Therefore the owner reads {@link #owner} once more, after it has stored what its use leaves in
 * {@link #live}. If it has lost the side, it cannot know how far the other one is: the session is broken off, and the use is refused, although it
 * may have had its effect. Whoever is refused, and whoever goes on, finds the side left. What the two did to the fields harms nobody after
 * that; what the virtual machine throws at either of them meanwhile (an index that is none, an object that is not there) is caught, and
 * taken for the same.
 *
 * <p>The owner makes no fence between its store and its second look, so the look may come first: the processor holds back the store, which
 * takes a fraction of the pause, or the compiler has exchanged the two, and the system stops the thread just between them. What
 * remains is an owner whose look comes before the other thread's fence, and whose store comes after the pause. Then both uses go on as
 * if they were the only one: a message may be lost or doubled, a side may wait for one that does not come, and nobody is refused. To exclude that,
 * the owner would have to make a fence in each use, or the other thread to stop the owner, by asking for its stack, say; that takes a tenth of a
 * millisecond, also where an endpoint changes hands as it should.
 *
 * <p>An owner that has ended is in the middle of nothing, and nobody waits for it: all that it did comes before its end is seen. The thread
 * that comes after it owns the side with its second use, since it will probably stay, too. Where an owner that lives has to be waited for, the
 * next one has to claim twice as often before it becomes the owner, so that a side which goes to and fro between threads waits seldom.
 */
abstract class Claims extends Watch {
    /** An operation is under way. */
    private static final long BUSY = -2;

    private static final WeakReference<Thread> NOBODY = new WeakReference<>(null);
    /** In place of an owner that lives, for as long as somebody pauses for it. All others that come pause, too. */
    private static final WeakReference<Thread> DEPOSED = new WeakReference<>(null);
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
    /** Whether ownership was ever taken away from a thread that lives; never taken back. */
    private volatile boolean contested;

    Claims(Side side) {
        super(side);
        // A fence, which a volatile store has, would be of no use to anybody yet.
        OWNER.set(this, NOBODY);
    }

    /** Whether the calling thread is the owner. */
    final boolean isMine() {
        return owner.refersTo(Thread.currentThread());
    }

    /**
     * Begins a use that does not wait: `begin` may be followed by {@link #hold}. Whether the endpoint of this turn is live. `owned` says whether
     * the calling thread {@link #isMine} a moment ago, and is handed to what ends the use: an owner's has to be ended by a look whether it
     * still is one.
     */
    final boolean begin(long turn, boolean owned) {
        return owned ? live == turn : compete(turn);
    }

    /**
     * Marks the side as used for as long as a wait takes; it was begun. Afterwards the use is no longer an owner's, and may end in any
     * thread. False if the owner was no longer one.
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

    /** The owner, or what stands for none. */
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

    /** Whether an owner's use and another one may have met on this side. */
    final boolean isContested() {
        return contested;
    }

    /** Claims the side of an owner. */
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

    /**
     * Takes the ownership away from this owner, unless somebody else has done so meanwhile; whether it had to be waited for. By a CAS: a thread
     * that is stopped between its look and this takes nothing from a newer owner, for which it has not waited.
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
        // By the clock: how long a spin-wait takes differs from processor to processor, and may be nothing.
        long start = System.nanoTime();
        while (System.nanoTime() - start < GRACE) {
            Thread.onSpinWait();
        }
        OWNER.compareAndSet(this, DEPOSED, NOBODY);
        return true;
    }

    /** Takes the ownership away from whoever has it, for good if nobody can begin a use afterwards. */
    final void vacate() {
        owner = NOBODY;
    }

    /** Ends a use that is not an owner's: the endpoint of this turn is live. */
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
