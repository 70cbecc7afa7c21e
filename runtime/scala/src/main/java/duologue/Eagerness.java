package duologue;

import java.lang.ref.WeakReference;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Runs without fences.
 *
 * <p>A fence for each message waits until the message has got its cache line from the receiver, and in a stream that is most of
 * what a message costs. The fence is needed only because the receiver may be about to sleep. A receiver that has for a
 * while found each message without sleeping says so: it stores {@link Waiter#EAGER} as its waiter. A sender that sees this before
 * it publishes stores the word alone, with {@link Pipe#EAGER} in it. Messages that turn the direction or end the session, and those with
 * endpoints inside, have their fences always.
 *
 * <h2>Why nobody sleeps for ever</h2>
 *
 * A receiver that goes to sleep after all stores its real waiter, then a fence, then it looks once more. From here until it
 * is <em>sure</em> it looks again from time to time, at growing intervals: a sender that has still seen EAGER may publish without
 * a fence and miss the waiter, and nothing more than that its message becomes visible some time is relied upon, as in every loop
 * that spins. To miss the waiter for a time T, the sender must have been stopped for as long, between its look at the waiter and its
 * store a few instructions later. Each interval is as long as all before it together. So a message that was missed is found late by no more
 * than its sender was late itself, and in no case by more than {@link #LATE}; and a receiver that is idle looks twenty times in its first
 * minute, and then once a minute. No handshake takes the place of that: the sender of an idle receiver runs nothing that could answer.
 *
 * <p>The receiver is sure once it has taken a message without EAGER since it found the ring empty behind that fence. Be this
 * message n. Its sender did not see EAGER, so it has made a fence behind n. The receiver's fence came first, since its look did not
 * find n. So whatever the sender reads for later messages is the waiter, or what the receiver has stored later: the
 * promise is forgotten on both sides, and the next sleep is as in {@link Pipe}.
 */
final class Eagerness {
    /** Nothing was promised, or the sender has forgotten it. */
    static final byte NONE = 0;
    /** The waiter is EAGER. */
    static final byte PROMISED = 1;
    /** A waiter has taken its place, and the sender may not know it. */
    static final byte WITHDRAWN = 2;

    /** How many messages of runs a receiver has to find without sleeping. */
    static final int CALM = 32;

    /** The first interval, and the longest one, in nanoseconds: one minute. */
    static final long SOON = 100_000;
    static final long LATE = 60_000_000_000L;

    private Eagerness() {}

    /** After which interval to look again, after this one. */
    static long after(long interval) {
        return Math.min(LATE, 2 * interval);
    }

    /** Looks again in place of a waiter that is no thread, for as long as it waits, in the common pool of the Java library. */
    static final class Unsure extends Waiter implements Runnable {
        private final WeakReference<Sign> sign;
        private final Waiter waiter;
        private long interval = SOON;

        Unsure(Sign sign, Waiter waiter) {
            this.sign = new WeakReference<>(sign);
            this.waiter = waiter;
        }

        void start() {
            // Not in the timer's own thread, which all timers of the process share: who is woken may be a callback of the program.
            CompletableFuture.delayedExecutor(interval, TimeUnit.NANOSECONDS).execute(this);
        }

        @Override
        void wake() {
            waiter.wake();
        }

        @Override
        public void run() {
            Sign sign = this.sign.get();
            if (sign != null && sign.waiter == this && !sign.left) {
                Waiter.wake(waiter);
                interval = after(interval);
                start();
            }
        }
    }
}
