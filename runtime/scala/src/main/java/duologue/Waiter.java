package duologue;

import java.util.concurrent.locks.LockSupport;

/**
 * Someone who waits for a message or for room. To be woken is a hint to look again: it may come late or too often, never
 * too seldom. Subclasses keep what they need in final fields, because a late waker reads them without synchronisation.
 */
abstract class Waiter {
    abstract void wake();

    /** A thread in `park`; virtual threads too. */
    static final class Parked extends Waiter {
        private final Thread thread = Thread.currentThread();

        @Override
        void wake() {
            LockSupport.unpark(thread);
        }
    }
}
