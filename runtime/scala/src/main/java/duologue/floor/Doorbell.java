package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Records which endpoints of a set may have something to receive, so that the set checks only these.
 *
 * <p>Every position in the set has a {@link Bell}, which is the waiter of the endpoint in that position. Bells that have rung
 * form an intrusive stack. Ringing a bell and answering it take constant time, regardless of the number of positions. A bell
 * refers neither to the set nor to the endpoint, so a forgotten set becomes unreachable although the peers refer to its bells.
 *
 * <h2>Why no ring is lost</h2>
 *
 * <ul>
 *   <li>A bell is in the stack at most once: only the ring that sets {@code rung} pushes it, and the set clears {@code rung} only
 *       after it has taken the stack and read the link.
 *   <li>A ring that finds {@code rung} set pushes nothing. The ringing thread has published its message and executed a fence
 *       before that; the set clears {@code rung}, executes a full fence, and then checks the endpoint. Both sides write, then
 *       read what the other writes: the ring finds {@code rung} cleared, or the set finds the message.
 *   <li>The set goes to sleep with a CAS that replaces the empty stack with its own waiter and fails if a bell is there. A ring
 *       that finds the waiter replaces it with the bell and wakes it. As both are RMWs of one variable, no ring falls between
 *       them; and since one ring takes the waiter out, it is woken once for each sleep.
 * </ul>
 *
 * A ring for an endpoint that has meanwhile been removed from its position only costs the set a failed check.
 */
final class Doorbell {
    private static final VarHandle FIRST;
    private static final VarHandle RUNG;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            FIRST = lookup.findVarHandle(Doorbell.class, "first", Waiter.class);
            RUNG = lookup.findVarHandle(Bell.class, "rung", boolean.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** The newest bell that has rung, the waiter of the sleeping set, or null. */
    private volatile Waiter first;

    /** The bell of one position in the set. */
    static final class Bell extends Waiter {
        final int place;
        private final Doorbell doorbell;
        /** The bell that rang before this one; written by the ring that set {@link #rung}. */
        private Bell next;
        private volatile boolean rung;

        Bell(Doorbell doorbell, int place) {
            this.doorbell = doorbell;
            this.place = place;
        }

        @Override
        void wake() {
            if (!rung && RUNG.compareAndSet(this, false, true)) {
                doorbell.push(this);
            }
        }

        /**
         * Called by the set, which has taken the stack. Returns the bell that rang before this one. From here on this bell may
         * ring again.
         */
        Bell answer() {
            Bell before = next;
            next = null;
            rung = false;
            return before;
        }
    }

    private void push(Bell bell) {
        for (;;) {
            Waiter before = first;
            bell.next = before instanceof Bell rung ? rung : null;
            if (FIRST.compareAndSet(this, before, bell)) {
                if (before != null && bell.next == null) {
                    before.wake();
                }
                return;
            }
        }
    }

    boolean isSilent() {
        return first == null;
    }

    /**
     * Takes the stack and returns the newest bell, or null if there is none. The set is not asleep. After it has answered all
     * bells, and before it checks the endpoints, it executes a full fence.
     */
    Bell take() {
        return first == null ? null : (Bell) FIRST.getAndSet(this, null);
    }

    /** Stores the set's waiter, which the next ring wakes. Returns false if a bell is there. */
    boolean sleep(Waiter waiter) {
        return FIRST.compareAndSet(this, null, waiter);
    }

    /** Whether no bell has rung since {@link #sleep}. */
    boolean sleeps(Waiter waiter) {
        return first == waiter;
    }

    /** Removes the waiter, unless a bell has rung. Returns whether it did. */
    boolean retract(Waiter waiter) {
        return FIRST.compareAndSet(this, waiter, null);
    }
}
