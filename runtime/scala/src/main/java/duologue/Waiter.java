package duologue;

import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Someone who waits for a message or for room. To be woken is a hint to look again: it may come late or too often, never
 * too seldom. Subclasses keep what they need in final or volatile fields, because a late waker reads them without synchronisation.
 */
abstract class Waiter {
    /** Nobody waits, and the sender of a run may leave its fences out: see {@link Eagerness}. */
    static final Waiter EAGER = new Waiter() {
        @Override
        void wake() {}
    };

    abstract void wake();

    /** Wakes `waiter`, if it is someone who waits. */
    static void wake(Waiter waiter) {
        if (waiter != null && waiter != EAGER) {
            waiter.wake();
        }
    }

    /**
     * A thread in `park`; virtual threads too. A waker raises a flag first, so that several messages wake the thread once. The thread
     * lowers the flag whenever it returns from {@link #park}, so the flag is down before every look but the first, and before the first
     * nobody has raised it. With a fence between, the look sees what was published before a waker found the flag raised.
     */
    static final class Parked extends Waiter {
        private final Thread thread = Thread.currentThread();
        private volatile boolean isWoken;

        @Override
        void wake() {
            if (!isWoken) {
                isWoken = true;
                LockSupport.unpark(thread);
            }
        }

        /**
         * For the thread itself: sleeps until woken, or for this many nanoseconds unless there are Long.MAX_VALUE of them. It may also return
         * for no reason: the thread looks for what it waits for after every return.
         */
        void park(Object blocker, long nanos) {
            if (nanos == Long.MAX_VALUE) {
                LockSupport.park(blocker);
            } else {
                LockSupport.parkNanos(blocker, nanos);
            }
            if (isWoken) {
                isWoken = false;
                VarHandle.fullFence();
            }
        }
    }
}
