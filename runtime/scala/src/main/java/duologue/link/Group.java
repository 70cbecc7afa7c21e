package duologue;

import java.lang.ref.Reference;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Several endpoints, of which the first to be ready is wanted. All are claimed while the group waits. When it has chosen, all
 * except the chosen one are restored. Checking all of them takes time proportional to their number.
 *
 * <h2>Why no endpoint is passed over, and no group sleeps forever</h2>
 *
 * <ul>
 *   <li>The check begins at a random endpoint, so none that is ready is passed over forever, and if all are always ready, each is
 *       chosen equally often. There is no counter that threads would share or that a virtual thread would have to carry.
 *   <li>Before the group sleeps it stores one waiter with every side state, by the handshake of {@link Pipe}: either it is
 *       woken by the thread that makes a side state ready, or {@link SideState#announce} sees that one is ready. A waiter that
 *       is a thread checks again after each wake-up; for a {@link Task}, see there.
 *   <li>A side that is abandoned while the group sleeps counts as ready: the thread that abandons it wakes the waiter, by the
 *       same handshake.
 *   <li>All waiters are removed before the result is returned: a side that was not chosen is as if there had been no wait.
 * </ul>
 */
class Group {
    private final Handle[] ends;
    private final int start;
    /** The index of the endpoint that is ready, or -1. */
    private int chosen = -1;
    /** Whether the chosen side was abandoned from elsewhere in the meantime. */
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

    /** Claims all endpoints and returns -1. If one cannot be claimed, claims none and returns its index. */
    int claim() {
        for (int i = 0; i < ends.length; i++) {
            if (!ends[i].$claim()) {
                restore(i, -1);
                return i;
            }
        }
        return -1;
    }

    /** Restores the first {@code count} endpoints, except the one at index {@code but}. */
    private void restore(int count, int but) {
        for (int i = 0; i < count; i++) {
            if (i != but) {
                ends[i].$restore();
            }
        }
    }

    /**
     * Waits until an endpoint is ready and returns READY; that endpoint is then the {@link #chosen} one. A negative {@code nanos}
     * means no time limit, and 0 a single check. All endpoints are claimed before, and all except the chosen one are restored
     * after.
     */
    Outcome await(long nanos) {
        long deadline = nanos <= 0 ? 0 : System.nanoTime() + nanos;
        int spins = YieldPolicy.isVirtual() ? 0 : SpinBudget.FEW / ends.length;
        int looks = nanos == 0 ? 1 : spins + SpinBudget.YIELDS;
        for (int i = 0; i < looks; i++) {
            if (find()) {
                restore(ends.length, chosen);
                return Outcome.READY;
            }
            if (i < spins) {
                Thread.onSpinWait();
            } else if (nanos != 0 && !YieldPolicy.yieldUnlessSlow()) {
                break;
            }
        }
        if (nanos == 0) {
            restore(ends.length, -1);
            return Outcome.TIMEOUT;
        }
        Waiter.Parked waiter = new Waiter.Parked();
        if (!announce(waiter)) {
            restore(ends.length, chosen);
            return Outcome.READY;
        }
        if (RecordFlag.REGISTRY) {
            noteWaiting(false);
        }
        Outcome outcome = Outcome.READY;
        while (outcome == Outcome.READY) {
            if (find()) {
                break;
            }
            outcome = Side.park(waiter, this, nanos, deadline);
        }
        boolean isChosen = settle();
        // The collector must not treat a side as forgotten while a thread waits on it.
        Reference.reachabilityFence(this);
        return isChosen ? Side.reconcile(outcome) : outcome;
    }

    /** Searches for an endpoint that is ready or was abandoned. All are claimed. */
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
        if (!side.state.isReady()) {
            return false;
        }
        chosen = at;
        left = side.isLeft();
        return true;
    }

    /** Restores the chosen endpoint as well, from which nothing was taken. */
    void unchoose() {
        ends[chosen].$restore();
    }

    private void noteWaiting(boolean isPassive) {
        for (Handle end : ends) {
            if (RecordFlag.REGISTRY) Registered.waits(end.$side.state, isPassive);
        }
    }

    private int place(int step) {
        int at = start + step;
        return at < ends.length ? at : at - ends.length;
    }

    /** Stores the waiter with all side states. Returns false if one is ready, which is then the chosen one. */
    private boolean announce(Waiter waiter) {
        for (int i = 0; i < ends.length; i++) {
            int at = place(i);
            if (!ends[at].$side.state.announcePassive(waiter)) {
                for (int j = 0; j < i; j++) {
                    ends[place(j)].$side.state.retract();
                }
                choose(at);
                return false;
            }
        }
        return true;
    }

    /**
     * Removes all waiters, chooses an endpoint if none is chosen yet, and restores all except the chosen one. Returns false if
     * none is ready.
     */
    private boolean settle() {
        for (Handle end : ends) {
            end.$side.state.retract();
            if (RecordFlag.REGISTRY) {
                Registered.stopsWaiting(end.$side.state);
            }
        }
        boolean isChosen = chosen >= 0 || find();
        restore(ends.length, chosen);
        return isChosen;
    }

    /**
     * A group for which no thread waits: the thread that wakes it chooses on its behalf. Several threads may wake it at the
     * same time, so {@code calls} counts them: the one that raises it from 0 checks the endpoints, and checks again for those
     * that called in the meantime. The next one sees what the previous one wrote to the fields, because it takes over through
     * the same variable. The thread that starts the group begins with a call of its own, so that no other thread checks before
     * every side state has the waiter. After the choice the count never returns to 0. A thread that gives the group up sets a
     * field and then calls too: the next thread that checks sees the field, and gives up if nothing can be chosen.
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

        /**
         * Called once instead of {@link #chose}, after {@link #giveUp}: all endpoints are as if there had been no wait. It must
         * not wait.
         */
        void gaveUp() {
            throw new AssertionError("this group cannot be given up");
        }

        /** Ends the wait, unless a side is ready. Does nothing if the wait is over. */
        final void giveUp() {
            isGivenUp = true;
            Waiter.wake(waiter);
        }

        /** Starts the wait. All endpoints are claimed. */
        final void start() {
            if (super.find() || !super.announce(waiter)) {
                super.restore(super.ends.length, super.chosen);
                chose();
                return;
            }
            Side.SUSPENDED.add(this);
            if (RecordFlag.REGISTRY) {
                super.noteWaiting(true);
            }
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
