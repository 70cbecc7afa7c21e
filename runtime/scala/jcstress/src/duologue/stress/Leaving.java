package duologue.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Sides that close the session at the moment when a thread sends or receives. */
public final class Leaving {
    private Leaving() {}

    @JCStressTest
    @Outcome(id = "7, -1", expect = ACCEPTABLE, desc = "What was sent before is received, and then the session is closed.")
    @State
    public static class SenderLeaves {
        private final Talk talk = new Talk();

        @Actor
        public void leaves() {
            talk.send(7);
            talk.leaveClient();
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r1 = talk.recv();
            seen.r2 = talk.recv();
        }
    }

    @JCStressTest
    @Outcome(id = "-1", expect = ACCEPTABLE, desc = "Called once, with the report that the peer has closed the session.")
    @State
    public static class CallbackIsTold {
        private final Talk talk = new Talk();

        @Actor
        public void leaves() {
            talk.leaveClient();
        }

        @Actor
        public void listens() {
            talk.listen();
        }

        @Arbiter
        public void looks(I_Result seen) {
            seen.r1 = talk.heard();
        }
    }

    @JCStressTest
    @Outcome(id = "1, -1", expect = ACCEPTABLE, desc = "The message was sent, and destroyed unread: the session inside was closed.")
    @Outcome(id = "-1, 1", expect = ACCEPTABLE, desc = "The message was not sent: the endpoint inside is still the sender's.")
    @State
    public static class ReceiverLeaves {
        private final Freight freight = new Freight();

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = freight.send();
        }

        @Actor
        public void leaves() {
            freight.leave();
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r2 = freight.rest();
        }
    }

    @JCStressTest
    @Outcome(id = "1, -2", expect = ACCEPTABLE, desc = "The message was received.")
    @Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "The message was destroyed unread while its receiver waited.")
    @Outcome(id = "-2, -1", expect = ACCEPTABLE, desc = "The message was destroyed unread before the receiver began.")
    @State
    public static class LeftWhileItTakes {
        private final Freight freight = new Freight();

        public LeftWhileItTakes() {
            freight.send();
        }

        @Actor
        public void takes(II_Result seen) {
            seen.r1 = freight.take();
        }

        @Actor
        public void leaves() {
            freight.leave();
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r2 = freight.rest();
        }
    }

    @JCStressTest
    @Outcome(id = "-1", expect = ACCEPTABLE, desc = "The sender that waits for space finds the session closed.")
    @State
    public static class FullAndLeft {
        private final Talk talk = new Talk();

        public FullAndLeft() {
            for (int i = 1; i <= 255; i++) {
                talk.send(i);
            }
        }

        @Actor
        public void sends(I_Result seen) {
            seen.r1 = talk.send(256);
        }

        @Actor
        public void leaves() {
            talk.leaveServer();
        }
    }

    @JCStressTest
    @Outcome(id = "-2, -2", expect = ACCEPTABLE, desc = "The session is over for both sides.")
    @State
    public static class BothLeave {
        private final Talk talk = new Talk();

        @Actor
        public void one() {
            talk.leaveClient();
        }

        @Actor
        public void two() {
            talk.leaveServer();
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r1 = talk.sendOnce(1);
            seen.r2 = talk.tryRecv();
        }
    }

    @JCStressTest
    @Outcome(id = "-1", expect = ACCEPTABLE, desc = "The wait has ended.")
    @Outcome(id = "-2", expect = ACCEPTABLE, desc = "The side was abandoned before the wait began.")
    @State
    public static class LeftFromElsewhere {
        private final Talk talk = new Talk();

        @Actor
        public void receives(I_Result seen) {
            seen.r1 = talk.recv();
        }

        @Actor
        public void leaves() {
            talk.leaveServer();
        }
    }

    @JCStressTest
    @Outcome(id = "-1, 1", expect = ACCEPTABLE, desc = "The wait has ended. The message was destroyed unread.")
    @Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "The wait has ended. The message was refused.")
    @Outcome(id = "7, 1", expect = ACCEPTABLE, desc = "The message came first.")
    @State
    public static class LeftWhileWaiting {
        private final Talk talk = new Talk();

        public LeftWhileWaiting() {
            talk.listen();
        }

        @Actor
        public void sends(II_Result seen) {
            seen.r2 = talk.sendOnce(7);
        }

        @Actor
        public void leaves() {
            talk.leaveServer();
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r1 = talk.heard();
        }
    }
}
