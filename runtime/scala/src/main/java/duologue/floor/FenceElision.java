package duologue;

import java.lang.ref.WeakReference;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Runs without fences.
 *
 * <p>The fence after each message waits until the message's cache line has arrived from the receiver, and in a stream that is
 * most of what a message costs. The fence is needed only because the receiver may be about to sleep. A receiver that has received
 * messages for a while without sleeping announces this: it stores {@link Waiter#EAGER} as its waiter. A sender that sees this
 * before it publishes stores the word alone, with {@link Pipe#EAGER} in it. Messages that reverse the direction or end the
 * session, and messages with endpoints inside, always have their fences.
 *
 * <h2>Why no receiver sleeps forever</h2>
 *
 * A receiver that goes to sleep after all stores its real waiter, executes a fence, and polls once more. From here until it is
 * <em>sure</em> it polls again from time to time, at growing intervals: a sender that has still seen EAGER may publish without a
 * fence and miss the waiter. All that this relies on is that the sender's message becomes visible eventually, as in every spin
 * loop. To miss the waiter for a time T, the sender must have been suspended for that long between its read of the waiter and its
 * store a few instructions later. Up to {@link #LATE}, each interval is as long as all earlier ones together plus {@link #SOON}.
 * So a missed message is found with a delay of at most the time for which its sender was suspended plus {@code SOON}, and in no
 * case more than {@code LATE}. An idle receiver polls twenty times in its first minute, and then once a minute. A handshake
 * cannot replace the polling: the sender of an idle receiver runs no code that could answer.
 *
 * <p>The receiver is sure once it has received a message without EAGER, after it found the ring empty following that fence. Let n
 * be that message. Its sender did not see EAGER, so it has executed a fence after n. The receiver's fence came first, since its
 * poll did not find n. So for later messages the sender reads the waiter, or what the receiver has stored later: the promise is
 * forgotten on both sides, and the next sleep is as described in {@link Pipe}.
 */
final class FenceElision {
    /** No promise was made, or the sender has forgotten it. */
    static final byte NONE = 0;
    /** The waiter is EAGER. */
    static final byte PROMISED = 1;
    /** A waiter has replaced EAGER, and the sender may not have seen it. */
    static final byte WITHDRAWN = 2;

    /** How many messages in runs a receiver must receive without sleeping before it promises not to sleep. */
    static final int CALM = 32;

    /** The first interval and the longest one, in nanoseconds: 100 microseconds and one minute. */
    static final long SOON = 100_000;
    static final long LATE = 60_000_000_000L;

    private FenceElision() {}

    /** The interval after this one, in nanoseconds. */
    static long after(long interval) {
        return Math.min(LATE, 2 * interval);
    }

    /**
     * Makes a waiter that is not a thread poll again at growing intervals for as long as it waits, in the common pool of the Java
     * library.
     */
    static final class Unsure extends Waiter implements Runnable {
        private final WeakReference<SharedFlags> flags;
        private final Waiter waiter;
        private long interval = SOON;

        Unsure(SharedFlags flags, Waiter waiter) {
            this.flags = new WeakReference<>(flags);
            this.waiter = waiter;
        }

        void start() {
            // Not in the timer's own thread, which all timers of the process share: the waiter may be a callback of the program.
            CompletableFuture.delayedExecutor(interval, TimeUnit.NANOSECONDS).execute(this);
        }

        @Override
        void wake() {
            waiter.wake();
        }

        @Override
        public void run() {
            SharedFlags flags = this.flags.get();
            if (flags != null && flags.waiter == this && !flags.left) {
                Waiter.wake(waiter);
                interval = after(interval);
                start();
            }
        }
    }
}
