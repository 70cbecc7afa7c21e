package duologue;

import java.lang.ref.Reference;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Several endpoints, of which the one is wanted that is ready first. All are claimed while the group looks, and restored when
 * it has chosen, but for the chosen one. To look at all takes time in proportion to their number.
 *
 * <h2>Why none is passed over, and nobody sleeps for ever</h2>
 *
 * <ul>
 *   <li>The look begins at a random place, so each of several that are ready is chosen equally often; there is no counter that
 *       threads would share or that a virtual thread would have to carry.
 *   <li>One waiter is left with every seat before the group sleeps, by the handshake of {@link Pipe}: either it is woken by
 *       whoever makes a seat ready, or {@link Seat#announce} sees that one is ready. A waiter that is a thread looks again
 *       after each wake; for a {@link Task} see there.
 *   <li>A side that is left while it sleeps counts as ready: whoever leaves wakes the waiter, by the same handshake.
 *   <li>All waiters are taken back before the answer is given: a side that was not chosen is as if nobody had waited.
 * </ul>
 */
class Group {
    private final Handle[] ends;
    private final int start;
    /** The place of the endpoint that is ready, or -1. */
    private int chosen = -1;
    /** Whether the chosen side was left from elsewhere in the meantime. */
    private boolean left;

    Group(Handle[] ends) {
        this.ends = ends;
        this.start = ThreadLocalRandom.current().nextInt(ends.length);
    }

    int chosen() {
        return chosen;
    }

    boolean isLeft() {
        return left;
    }

    /** Claims all. The place of one that cannot be, and then none is claimed; else -1. */
    int claim() {
        for (int i = 0; i < ends.length; i++) {
            if (!ends[i].$side.claim(ends[i])) {
                restore(i, -1);
                return i;
            }
        }
        return -1;
    }

    /** Restores the first `count` but for one. */
    private void restore(int count, int but) {
        for (int i = 0; i < count; i++) {
            if (i != but) {
                ends[i].$side.restore(ends[i]);
            }
        }
    }

    /**
     * Waits until one is ready; READY if so, and then it is the {@link #chosen} one. `nanos` below 0 means for ever, and 0 one
     * look. All are claimed before, and restored after, but for the chosen one.
     */
    Side.Outcome await(long nanos) {
        long deadline = nanos <= 0 ? 0 : System.nanoTime() + nanos;
        int spins = Patience.isVirtual() ? 0 : Patience.FEW / ends.length;
        int looks = nanos == 0 ? 1 : spins + Patience.YIELDS;
        for (int i = 0; i < looks; i++) {
            if (find()) {
                restore(ends.length, chosen);
                return Side.Outcome.READY;
            }
            if (i < spins) {
                Thread.onSpinWait();
            } else if (nanos != 0 && !Yields.giveWay()) {
                break;
            }
        }
        if (nanos == 0) {
            restore(ends.length, -1);
            return Side.Outcome.TIMEOUT;
        }
        Waiter.Parked waiter = new Waiter.Parked();
        if (!announce(waiter)) {
            restore(ends.length, chosen);
            return Side.Outcome.READY;
        }
        Side.Outcome outcome = Side.Outcome.READY;
        while (outcome == Side.Outcome.READY) {
            if (find()) {
                break;
            }
            outcome = Side.park(waiter, this, nanos, deadline);
        }
        boolean isChosen = settle();
        // The collector must not find a side forgotten while a thread waits by it.
        Reference.reachabilityFence(this);
        return isChosen ? Side.reconcile(outcome) : outcome;
    }

    /** Looks for one that is ready or was left; all are claimed. */
    private boolean find() {
        for (int i = 0; i < ends.length; i++) {
            if (choose(place(i))) {
                return true;
            }
        }
        return false;
    }

    private boolean choose(int at) {
        Side side = ends[at].$side;
        if (!side.seat.isReady()) {
            return false;
        }
        chosen = at;
        left = side.isLeft();
        return true;
    }

    /** Restores the chosen one, too, from which nothing was taken. */
    void unchoose() {
        ends[chosen].$side.restore(ends[chosen]);
    }

    private int place(int step) {
        int at = start + step;
        return at < ends.length ? at : at - ends.length;
    }

    /** Leaves the waiter with all; false if one is ready: then it is chosen. */
    private boolean announce(Waiter waiter) {
        for (int i = 0; i < ends.length; i++) {
            int at = place(i);
            if (!ends[at].$side.seat.announcePassive(waiter)) {
                for (int j = 0; j < i; j++) {
                    ends[place(j)].$side.seat.retract();
                }
                choose(at);
                return false;
            }
        }
        return true;
    }

    /** Ends the waiting of all, restores all but the chosen one, and chooses if none is. False if none is ready. */
    private boolean settle() {
        for (Handle end : ends) {
            end.$side.seat.retract();
        }
        boolean isChosen = chosen >= 0 || find();
        restore(ends.length, chosen);
        return isChosen;
    }

    /**
     * A group for which no thread waits: whoever wakes it chooses in its place. Several wake it at the same time, so `calls`
     * counts them: the one that raises it from 0 looks, and looks again for those that came meanwhile; what one of them leaves in
     * the fields the next one sees, because it takes over by the same variable. Who starts the group begins with a call of its
     * own, so that nobody looks before every seat has the waiter. After the choice the count never returns to 0. Who gives the group
     * up says so in a field and then calls, too: whoever looks next sees the field, and gives up if nothing can be chosen.
     */
    abstract static class Task extends Group {
        private final AtomicInteger calls = new AtomicInteger(1);
        private volatile boolean isGivenUp;
        private final Waiter waiter = new Waiter() {
            @Override
            void wake() {
                if (calls.getAndIncrement() == 0) {
                    serve();
                }
            }
        };

        Task(Handle[] ends) {
            super(ends);
        }

        /** Called once, when a side is chosen. It must not wait. */
        abstract void chose();

        /** Called once in place of {@link #chose}, after {@link #giveUp}: all are as if nobody had waited. It must not wait. */
        void gaveUp() {
            throw new AssertionError("nobody gives this up");
        }

        /** Ends the wait, unless a side is ready. Nothing happens if it is over. */
        final void giveUp() {
            isGivenUp = true;
            Waiter.wake(waiter);
        }

        /** All are claimed. */
        final void start() {
            if (super.find() || !super.announce(waiter)) {
                super.restore(super.ends.length, super.chosen);
                chose();
                return;
            }
            Side.SUSPENDED.add(this);
            serve();
        }

        private void serve() {
            int answered = 1;
            while (answered != 0) {
                boolean givesUp = isGivenUp;
                if (super.find() || givesUp) {
                    Side.SUSPENDED.remove(this);
                    if (super.settle()) {
                        chose();
                    } else {
                        gaveUp();
                    }
                    return;
                }
                answered = calls.addAndGet(-answered);
            }
        }
    }
}
