package duologue.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * Long runs, in which each thread becomes the owner of its side and uses its lane, and what interrupts them. The result of a run
 * is the number of values that were received out of order.
 */
public final class Lanes {
    private static final int RUN = 240;
    private static final int HALF = 120;
    /** The last of these messages go through the lane. */
    private static final int FEW = 20;

    private Lanes() {}

    @JCStressTest
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "All arrive, in order.")
    @State
    public static class LongRun {
        private final Talk talk = new Talk();

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = talk.sendRun(0, 3 * RUN);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r2 = talk.recvRun(0, 3 * RUN);
        }
    }

    @JCStressTest
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "All arrive, in order, and then the session is closed by the sender.")
    @State
    public static class SenderLeaves {
        private final Talk talk = new Talk();

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = talk.sendRun(0, RUN);
            talk.leaveClient();
        }

        @Actor
        public void receives(II_Result seen) {
            int wrong = talk.recvRun(0, RUN);
            seen.r2 = talk.recv() == Talk.Closed() ? wrong : RUN;
        }
    }

    @JCStressTest
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "The sender had sent all messages before the receiver closed the session.")
    @Outcome(id = "-1, 0", expect = ACCEPTABLE, desc = "The sender finds in the middle of the run that the receiver has closed the session.")
    @State
    public static class ReceiverLeaves {
        private final Talk talk = new Talk();

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = talk.sendRun(0, RUN);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r2 = talk.recvRun(0, HALF);
            talk.leaveServer();
        }
    }

    @JCStressTest
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "All were sent before the side was abandoned.")
    @Outcome(id = "-2, 0", expect = ACCEPTABLE, desc = "The side was abandoned in the middle, and what was sent before arrives.")
    @State
    public static class SideIsLeftElsewhere {
        private final Talk talk = new Talk();

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = talk.sendRun(0, RUN);
        }

        @Actor
        public void leaves() {
            talk.leaveElsewhere();
        }

        @Arbiter
        public void receives(II_Result seen) {
            seen.r2 = talk.recvPrefix();
        }
    }

    @JCStressTest
    @Outcome(id = "-2, 0", expect = ACCEPTABLE, desc = "No thread sends through an abandoned side, not even one that becomes its owner meanwhile.")
    @State
    public static class SideIsLeftWhenItGetsAnOwner {
        private final Talk talk = new Talk();

        @Actor
        public void sends() {
            talk.sendRun(0, FEW);
        }

        @Actor
        public void leaves() {
            talk.leaveElsewhere();
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r1 = talk.sendOnce(FEW);
            seen.r2 = talk.recvPrefix();
        }
    }

    @JCStressTest
    @Outcome(id = "0", expect = ACCEPTABLE, desc = "The second thread continues to receive where the first one stopped.")
    @State
    public static class ReceiverHandsOver {
        private final Talk talk = new Talk();
        private volatile int wrong = -1;

        @Actor
        public void sendsAndGoesOn(I_Result seen) {
            talk.sendRun(0, RUN);
            while (wrong < 0) {
                Thread.onSpinWait();
            }
            seen.r1 = wrong + talk.recvRun(HALF, RUN);
        }

        @Actor
        public void receives() {
            wrong = talk.recvRun(0, HALF);
        }
    }

    @JCStressTest
    @Outcome(id = "0", expect = ACCEPTABLE, desc = "The second thread continues to send where the first one stopped.")
    @State
    public static class SenderHandsOver {
        private final Talk talk = new Talk();
        private volatile boolean isHandedOver;

        @Actor
        public void sends() {
            talk.sendRun(0, HALF);
            isHandedOver = true;
        }

        @Actor
        public void receivesAndGoesOn(I_Result seen) {
            int wrong = talk.recvRun(0, HALF - 1);
            while (!isHandedOver) {
                Thread.onSpinWait();
            }
            talk.sendRun(HALF, RUN);
            seen.r1 = wrong + talk.recvRun(HALF - 1, RUN);
        }
    }
}
