package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The state that one side shows to its peer, which reads it with every message. It is rarely written, so that reading it stays
 * cheap; what changes with every message is stored elsewhere.
 */
final class SharedFlags extends Padding {
    private static final VarHandle WAITER;

    static {
        try {
            WAITER = MethodHandles.lookup().findVarHandle(SharedFlags.class, "waiter", Waiter.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** The waiter for a message on this side, {@link Waiter#EAGER}, or null. */
    volatile Waiter waiter;
    /** The waiter for space on this side, or null. */
    volatile Waiter spaceWaiter;
    /** Whether this side has been abandoned; never reset. */
    volatile boolean left;

    /** Makes the waiter EAGER, unless there is one already: it belongs to another use, and would never be woken. */
    boolean promise() {
        return WAITER.compareAndSet(this, null, Waiter.EAGER);
    }

    /** Whether a waiter is registered. */
    boolean isAwaited() {
        return waiter != null || spaceWaiter != null;
    }
}
