package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What one side shows to its peer, which looks at it with every message. It is seldom written, so that looking stays cheap; what
 * changes with every message lies elsewhere.
 */
final class Sign extends Padding {
    private static final VarHandle WAITER;

    static {
        try {
            WAITER = MethodHandles.lookup().findVarHandle(Sign.class, "waiter", Waiter.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** Who waits here for a message; or {@link Waiter#EAGER}; or null. */
    volatile Waiter waiter;
    /** Who waits here for room. */
    volatile Waiter room;
    /** Whether this side has been left; never taken back. */
    volatile boolean left;

    /** Makes the waiter EAGER, unless there is one: that of another use would never be woken. */
    boolean promise() {
        return WAITER.compareAndSet(this, null, Waiter.EAGER);
    }
}
