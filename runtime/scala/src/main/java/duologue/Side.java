package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * The right to act for one side of a session. Endpoints come and go with every message; the side stays, and knows which
 * endpoint is the live one. One CAS claims it, so that of two uses of an endpoint, in whatever threads, one is refused.
 */
final class Side extends Padding {
    /** An operation is under way; it does not wait. */
    private static final long BUSY = -2;
    /** An operation waits for the peer. Whoever changes this to BUSY goes on in its place. */
    private static final long WAITING = -3;
    /** No endpoint of this side is live any more. */
    private static final long OVER = -4;

    private static final VarHandle LIVE;

    static {
        try {
            LIVE = MethodHandles.lookup().findVarHandle(Side.class, "live", long.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    final Seat seat;
    /** Where this side was put last into a set of endpoints. */
    Ports.Member member;
    private final Watch watch;
    /** The turn of the live endpoint, or one of the constants above. */
    private volatile long live;

    Side(Seat seat, long live) {
        this.seat = seat;
        this.live = live;
        this.watch = new Watch(this);
        seat.watch = watch;
    }

    boolean claim(Handle endpoint) {
        return LIVE.compareAndSet(this, endpoint.$turn, BUSY);
    }

    /** Ends the operation that claimed `endpoint`: the next endpoint is live. */
    void advance(Handle endpoint) {
        LIVE.setRelease(this, endpoint.$turn + 1);
    }

    /** Ends the operation that claimed `endpoint` as if it had not been. */
    void restore(Handle endpoint) {
        LIVE.setRelease(this, endpoint.$turn);
    }

    /** Ends the operation, and this side with it. */
    void end() {
        LIVE.setRelease(this, OVER);
    }

    boolean isOver() {
        return live == OVER;
    }

    /** The turn of the live endpoint; below 0 while there is none. */
    long turn() {
        return live;
    }

    // ---- waiting

    enum Outcome { READY, TIMEOUT, INTERRUPTED, LEFT }

    /** Waits for the next message; the side is claimed before and, but for LEFT, after. `nanos` below 0 means for ever. */
    Outcome awaitMessage(long nanos) {
        long deadline = nanos < 0 ? 0 : System.nanoTime() + nanos;
        if (seat.patience.look(seat)) {
            return Outcome.READY;
        }
        seat.waiter = new Waiter.Parked();
        Outcome outcome = Outcome.READY;
        if (seat.arm()) {
            live = WAITING;
            // While WAITING another thread may leave and move the seat. What is then read here does not matter: LEFT follows.
            while (outcome == Outcome.READY && live == WAITING && !seat.arrived()) {
                outcome = park(seat, nanos, deadline);
            }
            if (!resume()) {
                return Outcome.LEFT;
            }
            if (outcome != Outcome.READY && !seat.disarm()) {
                outcome = reconcile(outcome);
            }
        }
        seat.waiter = null;
        seat.patience.slept();
        return outcome;
    }

    /** Waits for room in an unbounded run; the side is claimed before and, but for LEFT, after. */
    Outcome awaitRoom() {
        if (seat.patience.look(seat)) {
            return Outcome.READY;
        }
        Outcome outcome = Outcome.READY;
        pipe().roomWaiter = new Waiter.Parked();
        live = WAITING;
        while (outcome == Outcome.READY && live == WAITING && !seat.hasRoom()) {
            outcome = park(seat, -1, 0);
        }
        pipe().roomWaiter = null;
        if (!resume()) {
            return Outcome.LEFT;
        }
        seat.patience.slept();
        return outcome;
    }

    /** Sleeps until woken, or until the deadline unless `nanos` is below 0. READY says only that it is worth a look. */
    static Outcome park(Object blocker, long nanos, long deadline) {
        if (nanos < 0) {
            LockSupport.park(blocker);
        } else {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return Outcome.TIMEOUT;
            }
            LockSupport.parkNanos(blocker, left);
        }
        return Thread.interrupted() ? Outcome.INTERRUPTED : Outcome.READY;
    }

    /** The message came in the same moment: it is delivered, and an interrupt stays pending. */
    static Outcome reconcile(Outcome outcome) {
        if (outcome == Outcome.INTERRUPTED) {
            Thread.currentThread().interrupt();
        }
        return Outcome.READY;
    }

    private Pipe pipe() {
        return seat.pipe;
    }

    /** Makes a claimed side WAITING, for a {@link Group}: it can be left from elsewhere. */
    void expose() {
        live = WAITING;
    }

    /** Whether nobody has left by a side that waits. */
    boolean isWaiting() {
        return live == WAITING;
    }

    /** Claims a side that waits. */
    boolean resume() {
        return LIVE.compareAndSet(this, WAITING, BUSY);
    }

    /**
     * What waits without a thread: sides, groups and sets. Nothing else may refer to them while the user only holds a future,
     * and the peer that becomes unreachable must still find them.
     */
    static final Set<Object> SUSPENDED = ConcurrentHashMap.newKeySet();

    // ---- leaving

    /** Leaves the session by whichever endpoint is live. Nothing happens if none is. */
    void abandon() {
        for (;;) {
            long now = live;
            if (now == OVER) {
                return;
            }
            if (now == BUSY) {
                Thread.yield();
            } else if (LIVE.compareAndSet(this, now, BUSY)) {
                Waiter message = now == WAITING ? seat.waiter : null;
                Waiter room = now == WAITING ? pipe().roomWaiter : null;
                seat.leave();
                live = OVER;
                if (message != null) {
                    message.wake();
                } else if (room != null) {
                    room.wake();
                }
                return;
            }
        }
    }

    /** As {@link #abandon}, for a side that lies in an unread message, where nobody can use it; collects what is found inside. */
    void leave(ArrayDeque<Side> unread) {
        seat.leave(unread);
        end();
    }

    // ---- endpoints that become unreachable

    private static final ReferenceQueue<Side> UNREACHABLE = new ReferenceQueue<>();

    /**
     * Leaves the session after the garbage collector has found the side unreachable. The seat holds its watch and the peer's
     * seat holds the seat: so the watch lives as long as there is a peer to tell, and no list of all sessions is needed.
     */
    static final class Watch extends PhantomReference<Side> {
        private final Seat seat;

        Watch(Side side) {
            super(side, UNREACHABLE);
            this.seat = side.seat;
        }
    }

    static {
        Thread reaper = new Thread(null, Side::reap, "duologue-reaper", 0, false);
        reaper.setDaemon(true);
        reaper.setContextClassLoader(null);
        reaper.start();
    }

    private static void reap() {
        for (;;) {
            try {
                Watch watch = (Watch) UNREACHABLE.remove();
                if (watch.seat.watch == watch) {
                    watch.seat.leave();
                }
            } catch (InterruptedException ignored) {
                // Nobody but the virtual machine's end stops this thread.
            } catch (Throwable thrown) {
                Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
                if (handler != null) {
                    handler.uncaughtException(Thread.currentThread(), thrown);
                }
            }
        }
    }

    // ---- endpoints that travel

    /** A new side in the same seat, with the same endpoint live. The watch goes over to it. */
    Side twin(Handle endpoint) {
        return new Side(seat, endpoint.$turn);
    }

    /** Undoes {@link #twin}: the endpoint is live on this side again. */
    void takeBack(Handle endpoint) {
        seat.watch = watch;
        restore(endpoint);
    }
}
