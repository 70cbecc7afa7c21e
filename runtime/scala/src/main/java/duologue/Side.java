package duologue;

import java.lang.ref.Reference;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** One side of a session, for as long as it is in the same hands. Endpoints come and go with every message; the side stays. */
final class Side {
    final Seat seat;
    /** What shows that the seat is this side's. */
    private final Watch watch;
    /** Where this side was put last into a set of endpoints. */
    Ports.Member member;

    /** A side in a new seat of this session. */
    Side(Pipe pipe, boolean isClient, boolean speaks) {
        this.seat = new Seat(this, pipe, isClient, speaks);
        this.watch = seat;
    }

    /** A side that takes the seat when it is told to. */
    private Side(Seat seat) {
        this.seat = seat;
        this.watch = new Successor(this);
    }

    /** The watch over a side that was not the first in its seat. */
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

    /** Begins a use by the endpoint of this turn that does not wait, as {@link Claims#begin}; false if the endpoint is not the live one. */
    boolean begin(long turn, boolean owned) {
        return seat.begin(watch, turn, owned);
    }

    /** Sends a number by `endpoint`, which speaks again, by the lane; false, and nothing is done, if that cannot be. */
    boolean pushNumber(Handle endpoint, int index, long number) {
        return seat.pushNumber(endpoint.$turn, index, number);
    }

    /** As {@link #pushNumber}, an object. */
    boolean pushObject(Handle endpoint, int index, Object payload) {
        return seat.pushObject(endpoint.$turn, index, payload);
    }

    /** The word of the message that `endpoint` waits for, if it can go by the lane; else 0. */
    long peek(Handle endpoint) {
        return seat.peek(endpoint.$turn);
    }

    /** As {@link #begin}, for a use that other uses may come in between. */
    boolean claim(Handle endpoint) {
        return seat.claim(watch, endpoint.$turn);
    }

    /** Ends a use of `endpoint` as if it had not been. */
    void restore(Handle endpoint) {
        restore(endpoint.$turn);
    }

    /** As the other, of the endpoint of this turn. */
    void restore(long turn) {
        seat.release(turn);
    }

    /** Whether this side has been left while it was in use. */
    boolean isLeft() {
        return seat.isLeft();
    }

    /** The turn of the live endpoint; below 0 while there is none. */
    long turn() {
        return seat.isWatchedBy(watch) ? seat.turn() : -1;
    }

    // ---- waiting

    enum Outcome { READY, TIMEOUT, INTERRUPTED, LEFT, USED }

    /**
     * Waits for what the next operation needs: the next message, or room for one. The use has begun; it goes on with READY, no longer as an
     * owner's, and not with LEFT, or USED, which says that another use has come into this one. `nanos` below 0 means without end.
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
        // The collector must not find the side forgotten while a thread waits by it, and nothing of the above refers to it.
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

    /** Sleeps until woken, or until the deadline unless `nanos` is below 0. READY says only that it is worth a look. */
    static Outcome park(Waiter.Parked waiter, Object blocker, long nanos, long deadline) {
        return park(waiter, blocker, nanos, deadline, Long.MAX_VALUE);
    }

    /** As the other, and READY also after `most` nanoseconds. */
    private static Outcome park(Waiter.Parked waiter, Object blocker, long nanos, long deadline, long most) {
        long left = nanos < 0 ? most : Math.min(most, deadline - System.nanoTime());
        if (left <= 0) {
            return Outcome.TIMEOUT;
        }
        waiter.park(blocker, left);
        return Thread.interrupted() ? Outcome.INTERRUPTED : Outcome.READY;
    }

    /** The message came in the same moment: it is delivered, and an interrupt stays pending. */
    static Outcome reconcile(Outcome outcome) {
        if (outcome == Outcome.INTERRUPTED) {
            Thread.currentThread().interrupt();
        }
        return Outcome.READY;
    }

    /**
     * What waits without a thread: groups and sets. Nothing else may refer to them while the user only holds a future,
     * and the peer that becomes unreachable must still find them.
     */
    static final Set<Object> SUSPENDED = ConcurrentHashMap.newKeySet();

    // ---- leaving

    /** Leaves the session by whichever endpoint is live. Nothing happens if none is. */
    void abandon() {
        seat.leave(watch);
    }

    /** As {@link #abandon}, and collects what is found in unread messages. */
    void leave(ArrayDeque<Side> unread) {
        seat.leave(watch, unread);
    }

    // ---- endpoints that travel

    /** Moves the seat of a claimed side to a new one, where the next turn is live; null if this side was left meanwhile. */
    Side twin(Handle endpoint) {
        Side side = new Side(seat);
        if (!seat.move(watch, side.watch)) {
            return null;
        }
        seat.handOver(endpoint.$turn + 1);
        return side;
    }

    /** Undoes {@link #twin}, by which `endpoint` was moved, unless the other side was left meanwhile. */
    void takeBack(Side twin, Handle endpoint) {
        if (seat.move(twin.watch, watch)) {
            seat.release(endpoint.$turn);
        }
    }
}
