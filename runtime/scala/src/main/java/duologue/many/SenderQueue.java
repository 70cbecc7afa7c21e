package duologue;

import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Senders that share one endpoint and wait for space: a single waiter for the pipe, which wakes them all.
 *
 * <p>It holds no reference to the session, so an endpoint that all its senders have forgotten becomes unreachable.
 *
 * <h2>Why no sender sleeps forever</h2>
 *
 * A sender that joins holds the endpoint's lock: it enters the queue, stores the queue as {@link SharedFlags#spaceWaiter} and checks
 * once more for space. The receiver stores its progress and then reads {@code spaceWaiter} and the queue. All of these accesses are
 * volatile, hence sequentially consistent: the sender that joins sees the space, or the receiver sees the queue and the waiters
 * in it. A waiter is removed from the queue before it is woken, so it is woken once for each time it joins.
 */
final class SenderQueue extends Waiter {
    private final ConcurrentLinkedQueue<Waiter> waiting = new ConcurrentLinkedQueue<>();

    /**
     * Wakes the senders that are waiting at the moment. Some may join again at once, in this very thread: they are not woken
     * again.
     */
    @Override
    void wake() {
        for (int left = waiting.size(); left > 0; left--) {
            Waiter waiter = waiting.poll();
            if (waiter == null) {
                return;
            }
            Waiter.wake(waiter);
        }
    }

    /** Makes {@code waiter} wait for space. Returns false, without waiting, if there is some. The side is claimed. */
    boolean join(Waiter waiter, SideState state) {
        waiting.add(waiter);
        // If it has already been removed, a wake-up is on its way.
        return !rejoin(state) || !waiting.remove(waiter);
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /**
     * Stores the queue again, because another waiter may have replaced it. Returns whether there is space. The side is claimed.
     */
    boolean rejoin(SideState state) {
        state.flags.spaceWaiter = this;
        return state.hasSpace();
    }

    /** Removes a waiter that gives up. */
    void leave(Waiter waiter) {
        waiting.remove(waiter);
    }
}
