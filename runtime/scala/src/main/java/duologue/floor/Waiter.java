package duologue;

import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread, a callback or a set that waits for a message or for space. A wake-up is a hint to check again: it may come late or
 * too often, but never too rarely. Subclasses keep what they need in final or volatile fields, because a late waker reads them
 * without synchronization.
 */
abstract class Waiter {
    /** There is no waiter, and the sender of a run may leave out its fences: see {@link FenceElision}. */
    static final Waiter EAGER = new Waiter() {
        @Override
        void wake() {}
    };

    /** Wakes the waiter. May run the program's own code, and throw what that code throws: call {@link #wake(Waiter)} instead. */
    abstract void wake();

    /**
     * Wakes {@code waiter}, unless it is null or EAGER. What it throws does not reach the caller, which is in the middle of an
     * operation of its own and may have others to wake.
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

    /** Passes what the program's own code threw to the uncaught exception handler of the thread in which it ran. Never throws. */
    static void report(Throwable thrown) {
        Thread thread = Thread.currentThread();
        if (thrown instanceof InterruptedException) {
            thread.interrupt();
        }
        try {
            thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
        } catch (Throwable ignored) {
            // The virtual machine also ignores what a handler throws.
        }
    }

    /**
     * A thread, platform or virtual, in {@link #park}. A waker sets a flag first, so that several messages wake the thread once.
     * {@code park} returns at once if the flag is set, and clears it whenever it returns. After that the thread checks again,
     * with a fence in between, so it sees what was published before a waker found the flag set.
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
         * Called by the thread itself: sleeps until woken or, unless {@code nanos} is Long.MAX_VALUE, for that many nanoseconds.
         * It may also return spuriously: the thread checks for what it waits for after every return.
         */
        void park(Object blocker, long nanos) {
            // If the flag is set, the waker's permit may have gone to another wait of this thread, for example inside a lock.
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
