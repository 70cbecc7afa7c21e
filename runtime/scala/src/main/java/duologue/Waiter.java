package duologue;

import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread, a callback or a set that waits for a message or for room. To be woken is a hint to look again: it may come late or too often,
 * never too seldom. Subclasses keep what they need in final or volatile fields, because a late waker reads them without synchronisation.
 */
abstract class Waiter {
    /** Nobody waits, and the sender of a run may leave its fences out: see {@link Eagerness}. */
    static final Waiter EAGER = new Waiter() {
        @Override
        void wake() {}
    };

    /** May run the program's own code, and then throw what that throws: call {@link #wake(Waiter)}. */
    abstract void wake();

    /**
     * Wakes `waiter`, unless nobody waits. Nothing that it throws gets to the caller, which is in the middle of an operation of its own and may
     * have others to wake.
     */
    static void wake(Waiter waiter) {
        if (waiter != null && waiter != EAGER) {
            try {
                waiter.wake();
            } catch (Throwable thrown) {
                report(thrown);
            }
        }
    }

    /** Hands what the program's own code threw to the handler of the thread in which it ran. Never throws. */
    static void report(Throwable thrown) {
        Thread thread = Thread.currentThread();
        if (thrown instanceof InterruptedException) {
            thread.interrupt();
        }
        try {
            thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
        } catch (Throwable ignored) {
            // As the virtual machine does with what a handler throws.
        }
    }

    /**
     * A thread in `park`; virtual threads too. A waker raises a flag first, so that several messages wake the thread once. {@link #park}
     * returns at once if the flag is raised, and lowers it whenever it returns. The thread looks after that, with a fence between, so it
     * sees what was published before a waker found the flag raised.
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
            // If it is raised, the permit of the waker may have gone to another wait of this thread, inside a lock for example.
            if (!isWoken && nanos == Long.MAX_VALUE) {
                LockSupport.park(blocker);
            } else if (!isWoken) {
                LockSupport.parkNanos(blocker, nanos);
            }
            if (isWoken) {
                isWoken = false;
                VarHandle.fullFence();
            }
        }
    }
}
