package duologue;

import java.lang.ref.Reference;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** One side of a session, for as long as it has the same holder. Every message replaces the endpoint; the side stays. */
final class Side implements Abandonable {
    final SideState state;
    /** The watch that marks the side state as this side's. */
    private final Watch watch;
    /** This side's most recent membership in a set of endpoints, which alone knows its type. */
    Object member;

    /** A side in a new side state of this session. */
    Side(Pipe pipe, boolean isClient, boolean speaks) {
        this.state = new SideState(this, pipe, isClient, speaks);
        this.watch = state;
    }

    /** The first side of a side state that was created without one. */
    static Side first(SideState state) {
        Side side = new Side(state);
        state.move(state, side.watch);
        return side;
    }

    /** A side that takes over the side state later. */
    private Side(SideState state) {
        this.state = state;
        this.watch = new Successor(this);
    }

    /** The watch over a side that was not the first one in its side state. */
    private static final class Successor extends Watch {
        private final SideState state;

        Successor(Side side) {
            super(side);
            this.state = side.state;
        }

        @Override
        public void leave() {
            state.leave(this);
        }
    }

    /**
     * Begins a use that does not wait by the endpoint of this turn; see {@link Ownership#begin}. Returns false if the endpoint is
     * not the live one.
     */
    boolean begin(long turn, boolean owned) {
        return state.begin(watch, turn, owned);
    }

    /** Like {@link #begin}, for a use during which other uses may be attempted. */
    boolean claim(long turn) {
        return state.claim(watch, turn);
    }

    /** Ends a use by the endpoint of this turn as if it had not happened. */
    void restore(long turn) {
        state.release(turn);
    }

    /** Whether this side has been abandoned, which can happen while it is in use. */
    boolean isLeft() {
        return state.isLeft();
    }

    /** The turn of the live endpoint; negative while there is none. */
    long turn() {
        return state.isWatchedBy(watch) ? state.turn() : -1;
    }

    // ---- waiting

    /**
     * Waits for what the next operation needs: the next message, or space for one. The use has begun. It continues with READY,
     * but is not an owner's use from there on. It does not continue with LEFT, nor with USED, which means that another use has
     * overlapped this one. A negative {@code nanos} means no time limit.
     */
    Outcome await(long nanos, boolean owned) {
        if (!state.occupy(owned)) {
            return Outcome.USED;
        }
        if (RecordFlag.REGISTRY) {
            Registered.waits(state, false);
        }
        long deadline = nanos < 0 ? 0 : System.nanoTime() + nanos;
        Outcome outcome = state.await(nanos, deadline);
        if (outcome == null) {
            outcome = sleep(nanos, deadline);
        }
        // The collector must not treat the side as forgotten while a thread waits on it, and nothing above refers to it.
        Reference.reachabilityFence(this);
        if (RecordFlag.REGISTRY) {
            Registered.goesOn(state);
        }
        if (isLeft()) {
            return Outcome.LEFT;
        }
        return outcome != Outcome.READY && state.isReady() ? reconcile(outcome) : outcome;
    }

    private Outcome sleep(long nanos, long deadline) {
        Waiter.Parked waiter = new Waiter.Parked();
        Outcome outcome = Outcome.READY;
        if (state.announce(waiter)) {
            long interval = FenceElision.SOON;
            while (outcome == Outcome.READY && !state.isReady()) {
                outcome = park(waiter, state, nanos, deadline, state.isUnsure() ? interval : Long.MAX_VALUE);
                interval = FenceElision.after(interval);
            }
            state.retract();
        }
        state.budget().slept();
        return outcome;
    }

    /**
     * Sleeps until woken, or until the deadline unless {@code nanos} is negative. READY means only that a check is worthwhile.
     */
    static Outcome park(Waiter.Parked waiter, Object blocker, long nanos, long deadline) {
        return park(waiter, blocker, nanos, deadline, Long.MAX_VALUE);
    }

    /** Like the other {@code park}, but returns READY after {@code most} nanoseconds as well. */
    private static Outcome park(Waiter.Parked waiter, Object blocker, long nanos, long deadline, long most) {
        long left = nanos < 0 ? most : Math.min(most, deadline - System.nanoTime());
        if (left <= 0) {
            return Outcome.TIMEOUT;
        }
        waiter.park(blocker, left);
        return Thread.interrupted() ? Outcome.INTERRUPTED : Outcome.READY;
    }

    /** The message came at the same moment as a timeout or an interrupt: it is delivered, and an interrupt stays pending. */
    static Outcome reconcile(Outcome outcome) {
        if (outcome == Outcome.INTERRUPTED) {
            Thread.currentThread().interrupt();
        }
        return Outcome.READY;
    }

    /**
     * The waits that occupy no thread: groups, sets and messages of shared senders. It may be that nothing else refers to them
     * while the user holds only a future, and when the peer becomes unreachable they must still be found.
     */
    static final Set<Object> SUSPENDED = ConcurrentHashMap.newKeySet();

    // ---- abandoning

    /**
     * Abandons the session, whichever endpoint is live. Does nothing if the session is over for this side, or the side state
     * has moved to another side.
     */
    void abandon() {
        state.leave(watch);
    }

    @Override
    public void leave(ArrayDeque<Abandonable> unread) {
        state.leave(watch, unread);
    }

    // ---- endpoints in messages

    /**
     * Moves the side state of this side, which is claimed in this turn, to a new side, where the next turn is live. Returns null
     * if this side was abandoned in the meantime.
     */
    Side twin(long turn) {
        Side side = new Side(state);
        if (!state.move(watch, side.watch)) {
            return null;
        }
        state.handOver(turn + 1);
        return side;
    }

    /** Undoes the {@link #twin} of this turn, unless the new side was abandoned in the meantime. */
    void takeBack(Side twin, long turn) {
        if (state.move(twin.watch, watch)) {
            state.release(turn);
        }
    }
}
