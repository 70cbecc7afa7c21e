package duologue.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Several threads that want the same thing: a slot, an endpoint, or to end a wait. An outcome that no line accepts is forbidden,
 * and so is an actor that does not terminate.
 */
public final class Meeting {
    private Meeting() {}

    @JCStressTest
    @Outcome(id = "1, 7", expect = ACCEPTABLE, desc = "All get a slot in the end, although the others may take the first free ones.")
    @State
    public static class TwoWaitForOneSlot {
        private final SenderQueue queue = new SenderQueue();

        public TwoWaitForOneSlot() {
            queue.fill();
            queue.sendManyLater(64);
        }

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = queue.sendTwo(7);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r2 = queue.recvSome(255 + 64 + 1);
        }
    }

    @JCStressTest
    @Outcome(id = "1, 7", expect = ACCEPTABLE, desc = "The message is sent when there is space, and the future is completed once.")
    @State
    public static class SharedFuture {
        private final SenderQueue queue = new SenderQueue();

        public SharedFuture() {
            queue.fill();
        }

        @Actor
        public void sends() {
            queue.sendLater(7);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r2 = queue.recvSome(256);
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r1 = queue.heard();
        }
    }

    @JCStressTest
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "The message is sent when there is space, and the future is completed once.")
    @State
    public static class Future {
        private final Talk talk = new Talk();

        public Future() {
            talk.sendRun(0, 255);
        }

        @Actor
        public void sends() {
            talk.sendLater(255);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r2 = talk.recvRun(0, 256);
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r1 = talk.heard();
        }
    }

    @JCStressTest
    @Outcome(id = "1, 7", expect = ACCEPTABLE, desc = "The callback is called once, and the message is there.")
    @State
    public static class WaitEnds {
        private final Talk talk = new Talk();

        @Actor
        public void waits() {
            talk.await();
            talk.end();
        }

        @Actor
        public void sends() {
            talk.sendOnce(7);
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r1 = talk.heard();
            seen.r2 = talk.tryRecv();
        }
    }

    @JCStressTest
    @Outcome(id = "1, 7, 8", expect = ACCEPTABLE, desc = "The endpoint that was removed has its message, and the set receives the other one.")
    @State
    public static class TakenOutWhileItRings {
        private final Pair pair = new Pair();

        @Actor
        public void sends() {
            pair.one().sendOnce(7);
            pair.two().sendOnce(8);
        }

        @Actor
        public void takes(III_Result seen) {
            seen.r1 = pair.remove();
            seen.r3 = pair.recv();
        }

        @Arbiter
        public void looks(III_Result seen) {
            seen.r2 = pair.one().tryRecv();
        }
    }

    /** Only {@code EndpointUsed} is thrown, and messages may be lost only if it is thrown: every outcome except 1, 1, 1. */
    @JCStressTest
    @Outcome(id = "(1|-2), (1|-2), 0", expect = ACCEPTABLE, desc = "Everything that was sent arrives.")
    @Outcome(id = "-2, (1|-2), 1", expect = ACCEPTABLE, desc = "The two uses overlapped, the session is closed, and the owner was refused.")
    @Outcome(id = "1, -2, 1", expect = ACCEPTABLE, desc = "The two uses overlapped, the session is closed, and the other thread was refused.")
    @State
    public static class OwnersUse {
        private final Theft theft = new Theft();

        @Actor
        public void owns(III_Result seen) {
            seen.r1 = theft.own(60);
        }

        @Actor
        public void steals(III_Result seen) {
            seen.r2 = theft.steal();
        }

        @Arbiter
        public void looks(III_Result seen) {
            seen.r3 = theft.lost();
        }
    }
}
