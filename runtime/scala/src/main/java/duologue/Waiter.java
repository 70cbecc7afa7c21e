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
     * A thread in `park`; virtual threads too. Who wakes it raises a flag first, so that several messages wake it once. The thread
     * lowers the flag before it looks: with a fence between, it sees what was published before a waker found the flag raised.
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

        /** For the thread itself, before it looks and then sleeps. */
        void lower() {
            if (isWoken) {
                isWoken = false;
                VarHandle.fullFence();
            }
        }
    }
}
