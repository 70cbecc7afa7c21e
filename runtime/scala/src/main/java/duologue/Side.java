package duologue;

import java.lang.ref.Reference;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** One side of a session, for as long as it has the same holder. Every message replaces the endpoint; the side stays. */
final class Side {
    final Seat seat;
    /** The watch that marks the seat as this side's. */
    private final Watch watch;
    /** This side's most recent membership in a set of endpoints. */
    Ports.Member member;

    /** A side in a new seat of this session. */
    Side(Pipe pipe, boolean isClient, boolean speaks) {
        this.seat = new Seat(this, pipe, isClient, speaks);
        this.watch = seat;
    }

    /** A side that takes over the seat later. */
    private Side(Seat seat) {
        this.seat = seat;
        this.watch = new Successor(this);
    }

    /** The watch over a side that was not the first one in its seat. */
    private static final class Successor extends Watch {
        private final Seat seat;

        Successor(Side side) {
            super(side);
            this.seat = side.seat;
        }

        @Override
        Seat seat() {
            return seat;
        }
    }

    /**
     * Begins a use that does not wait by the endpoint of this turn; see {@link Claims#begin}. Returns false if the endpoint is
     * not the live one.
     */
    boolean begin(long turn, boolean owned) {
        return seat.begin(watch, turn, owned);
    }

    /**
     * Sends a number from {@code endpoint} through the lane, after which this side sends again. Returns false if that is not
     * possible; see {@link Seat#pushNumber}.
     */
    boolean pushNumber(Handle endpoint, int index, long number) {
        return seat.pushNumber(endpoint.$turn, index, number);
    }

    /** As {@link #pushNumber}, for an object. */
    boolean pushObject(Handle endpoint, int index, Object payload) {
        return seat.pushObject(endpoint.$turn, index, payload);
    }

    /** The word of the message that {@code endpoint} waits for, if it is there and goes through the lane; otherwise 0. */
    long peek(Handle endpoint) {
        return seat.peek(endpoint.$turn);
    }

    /** As {@link #begin}, for a use during which other uses may be attempted. */
    boolean claim(Handle endpoint) {
        return seat.claim(watch, endpoint.$turn);
    }

    /** Ends a use of {@code endpoint} as if it had not happened. */
    void restore(Handle endpoint) {
        restore(endpoint.$turn);
    }

    /** As {@link #restore(Handle)}, for the endpoint of this turn. */
    void restore(long turn) {
        seat.release(turn);
    }

    /** Whether this side has been abandoned, which can happen while it is in use. */
    boolean isLeft() {
        return seat.isLeft();
    }

    /** The turn of the live endpoint; negative while there is none. */
    long turn() {
        return seat.isWatchedBy(watch) ? seat.turn() : -1;
    }

    // ---- waiting

    enum Outcome { READY, TIMEOUT, INTERRUPTED, LEFT, USED }

    /**
     * Waits for what the next operation needs: the next message, or space for one. The use has begun. It continues with READY,
     * but is not an owner's use from there on. It does not continue with LEFT, nor with USED, which means that another use has
     * overlapped this one. A negative {@code nanos} means no time limit.
     */
    Outcome await(long nanos, boolean owned) {
        if (!seat.occupy(owned)) {
            return Outcome.USED;
        }
        long deadline = nanos < 0 ? 0 : System.nanoTime() + nanos;
        Patience patience = seat.patience();
        Outcome outcome = Outcome.READY;
        if (!patience.look(seat)) {
            Waiter.Parked waiter = new Waiter.Parked();
            if (seat.announce(waiter)) {
                outcome = sleep(waiter, nanos, deadline);
                seat.retract();
            }
            patience.slept();
        }
        // The collector must not treat the side as forgotten while a thread waits on it, and nothing above refers to it.
        Reference.reachabilityFence(this);
        if (isLeft()) {
            return Outcome.LEFT;
        }
        return outcome != Outcome.READY && seat.isReady() ? reconcile(outcome) : outcome;
    }

    private Outcome sleep(Waiter.Parked waiter, long nanos, long deadline) {
        Outcome outcome = Outcome.READY;
        long interval = Eagerness.SOON;
        while (outcome == Outcome.READY) {
            if (seat.isReady()) {
                break;
            }
            if (seat.isUnsure()) {
                outcome = park(waiter, seat, nanos, deadline, interval);
                interval = Eagerness.after(interval);
            } else {
                outcome = park(waiter, seat, nanos, deadline, Long.MAX_VALUE);
            }
        }
        return outcome;
    }

    /**
     * Sleeps until woken, or until the deadline unless {@code nanos} is negative. READY means only that a check is worthwhile.
     */
    static Outcome park(Waiter.Parked waiter, Object blocker, long nanos, long deadline) {
        return park(waiter, blocker, nanos, deadline, Long.MAX_VALUE);
    }

    /** As the other {@code park}, but returns READY after {@code most} nanoseconds as well. */
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
     * Abandons the session, whichever endpoint is live. Does nothing if the session is over for this side, or the seat has moved
     * to another side.
     */
    void abandon() {
        seat.leave(watch);
    }

    /** As {@link #abandon}, and adds the sides in unread messages to {@code unread}. */
    void leave(ArrayDeque<Side> unread) {
        seat.leave(watch, unread);
    }

    // ---- endpoints in messages

    /**
     * Moves the seat of this side, which is claimed, to a new side, where the next turn is live. Returns null if this side was
     * abandoned in the meantime.
     */
    Side twin(Handle endpoint) {
        Side side = new Side(seat);
        if (!seat.move(watch, side.watch)) {
            return null;
        }
        seat.handOver(endpoint.$turn + 1);
        return side;
    }

    /** Undoes the {@link #twin} that moved {@code endpoint}, unless the new side was abandoned in the meantime. */
    void takeBack(Side twin, Handle endpoint) {
        if (seat.move(twin.watch, watch)) {
            seat.release(endpoint.$turn);
        }
    }
}
