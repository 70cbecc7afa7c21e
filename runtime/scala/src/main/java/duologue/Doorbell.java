package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Who rang: how the endpoints of a set tell it which of them to look at.
 *
 * <p>Every place of the set has a {@link Bell}, which is the waiter of the endpoint in that place. Bells that rang form a stack,
 * linked through themselves. To ring and to answer one ring takes constant time, however many places there are. A bell knows
 * neither the set nor the endpoint, so that a set that is forgotten becomes unreachable although the peers know its bells.
 *
 * <h2>Why no ring is lost</h2>
 *
 * <ul>
 *   <li>A bell is in the stack at most once: only the ring that raises `rung` pushes it, and the set lowers `rung` only after it
 *       has taken the stack and read the link.
 *   <li>A ring that finds `rung` raised pushes nothing. The ringing thread has published its message and made a fence before; the
 *       set lowers `rung` and looks at the endpoint behind a full fence. Both sides write, then read what the other writes: the ring finds `rung` lowered, or the set finds the message.
 *   <li>The set sleeps by a CAS of its own waiter in place of the empty stack, which fails if a bell is there. A ring that finds
 *       the waiter replaces it by the bell and wakes it. As both are RMWs of one variable, no ring falls between them; and since
 *       one ring takes the waiter out, it is woken once for each sleep.
 * </ul>
 *
 * A ring for an endpoint that has left its place meanwhile makes the set look in vain, nothing else.
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

    /** The newest bell that rang; or the waiter of the set that sleeps; or null. */
    private volatile Waiter first;

    /** The bell of one place. */
    static final class Bell extends Waiter {
        final int place;
        private final Doorbell doorbell;
        /** The bell that rang before; written by the ring that raised {@link #rung}. */
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

        /** For the set, which has taken the stack: the bell that rang before. This one may ring again at once. */
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

    /** Takes the stack: the newest bell. The set does not sleep. After answering all, and before it looks, it calls a full fence. */
    Bell take() {
        return first == null ? null : (Bell) FIRST.getAndSet(this, null);
    }

    /** Leaves the set's waiter, which the next ring wakes. False if a bell is there. */
    boolean sleep(Waiter waiter) {
        return FIRST.compareAndSet(this, null, waiter);
    }

    /** Whether nobody rang since {@link #sleep}. */
    boolean sleeps(Waiter waiter) {
        return first == waiter;
    }

    /** Takes the waiter back, if nobody rang. */
    void retract(Waiter waiter) {
        FIRST.compareAndSet(this, waiter, null);
    }
}
