package duologue;

import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Senders that share one endpoint and wait for room: one waiter for the pipe, which wakes them all.
 *
 * <p>It refers to nothing of the session, so that an endpoint that all its senders have forgotten becomes unreachable.
 *
 * <h2>Why nobody sleeps for ever</h2>
 *
 * Who joins holds the endpoint's lock: it enters the queue, stores the crowd as {@link Sign#room} and looks once more for
 * room. The receiver stores how far it is and then reads {@code room} and the queue. All of these are volatile, hence
 * sequentially consistent: who joins sees the room, or the receiver sees the crowd and whoever is in it. A waiter is taken out of
 * the queue before it is woken, so it is woken once for each time it joins.
 */
final class Crowd extends Waiter {
    private final ConcurrentLinkedQueue<Waiter> waiting = new ConcurrentLinkedQueue<>();

    /** Wakes those that wait now. Some may come back at once, in this very thread: they are not woken again. */
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

    /** Lets `waiter` wait for room. False, and it does not wait, if there is some. The side is claimed. */
    boolean join(Waiter waiter, Seat seat) {
        waiting.add(waiter);
        seat.expectRoom(this);
        // If it has been taken out already, a wake is on its way.
        return !seat.hasRoom() || !waiting.remove(waiter);
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Takes the place again where another waiter may have stood in. Whether there is room; the side is claimed. */
    boolean rejoin(Seat seat) {
        seat.expectRoom(this);
        return seat.hasRoom();
    }

    /** Takes a waiter out that gives up. */
    void leave(Waiter waiter) {
        waiting.remove(waiter);
    }
}
