package duologue.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Selects, sets and shared senders: several sessions or senders, and one thread that waits for all of them. */
public final class Several {
    private Several() {}

    @JCStressTest
    @Outcome(id = "7, 0, 8", expect = ACCEPTABLE, desc = "The first is chosen, and the second is unchanged.")
    @Outcome(id = "8, 7, 0", expect = ACCEPTABLE, desc = "The second is chosen, and the first is unchanged.")
    @State
    public static class SelectChooses {
        private final Talk one = new Talk();
        private final Talk two = new Talk();

        @Actor
        public void sends() {
            one.send(7);
            two.send(8);
        }

        @Actor
        public void selects(III_Result seen) {
            seen.r1 = Choice.first(one, two);
        }

        @Arbiter
        public void looks(III_Result seen) {
            seen.r2 = one.tryRecv();
            seen.r3 = two.tryRecv();
        }
    }

    @JCStressTest
    @Outcome(id = "-1, 0", expect = ACCEPTABLE, desc = "The closed session is reported, and the second is unchanged.")
    @State
    public static class SelectIsTold {
        private final Talk one = new Talk();
        private final Talk two = new Talk();

        @Actor
        public void leaves() {
            one.leaveClient();
        }

        @Actor
        public void selects(II_Result seen) {
            seen.r1 = Choice.first(one, two);
            seen.r2 = two.tryRecv();
        }
    }

    @JCStressTest
    @Outcome(id = "7, 0, 8", expect = ACCEPTABLE, desc = "Called once, for the first; the second is unchanged.")
    @Outcome(id = "8, 7, 0", expect = ACCEPTABLE, desc = "Called once, for the second; the first is unchanged.")
    @State
    public static class SelectCalls {
        private final Talk one = new Talk();
        private final Talk two = new Talk();

        @Actor
        public void sends() {
            one.send(7);
            two.send(8);
        }

        @Actor
        public void listens() {
            Choice.listen(one, two);
        }

        @Arbiter
        public void looks(III_Result seen) {
            seen.r1 = one.heard();
            seen.r2 = one.tryRecv();
            seen.r3 = two.tryRecv();
        }
    }

    @JCStressTest
    @Outcome(id = "7, 8", expect = ACCEPTABLE, desc = "Both are reported.")
    @Outcome(id = "8, 7", expect = ACCEPTABLE, desc = "Both are reported.")
    @State
    public static class SetHears {
        private final Pair pair = new Pair();

        @Actor
        public void sends() {
            pair.one().send(7);
            pair.two().send(8);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r1 = pair.recv();
            seen.r2 = pair.recv();
        }
    }

    @JCStressTest
    @Outcome(id = "-1, 8", expect = ACCEPTABLE, desc = "Both are reported.")
    @Outcome(id = "8, -1", expect = ACCEPTABLE, desc = "Both are reported.")
    @State
    public static class SetIsTold {
        private final Pair pair = new Pair();

        @Actor
        public void leaves() {
            pair.one().leaveClient();
            pair.two().send(8);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r1 = pair.recv();
            seen.r2 = pair.recv();
        }
    }

    @JCStressTest
    @Outcome(id = "7, 8, -1", expect = ACCEPTABLE, desc = "Both arrive, and then the session is closed.")
    @Outcome(id = "8, 7, -1", expect = ACCEPTABLE, desc = "Both arrive, and then the session is closed.")
    @State
    public static class Shared {
        private final SenderQueue queue = new SenderQueue();

        @Actor
        public void sendsOne() {
            queue.sendOne(7);
            queue.leaveOne();
        }

        @Actor
        public void sendsTwo() {
            queue.sendTwo(8);
            queue.leaveTwo();
        }

        @Arbiter
        public void receives(III_Result seen) {
            seen.r1 = queue.recv();
            seen.r2 = queue.recv();
            seen.r3 = queue.recv();
        }
    }

    @JCStressTest
    @Outcome(id = "1, 7", expect = ACCEPTABLE, desc = "The sender got a slot in the end, and nothing was lost.")
    @State
    public static class SharedRoom {
        private final SenderQueue queue = new SenderQueue();

        public SharedRoom() {
            queue.fill();
        }

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = queue.sendOne(7);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r2 = queue.recvSome(256);
        }
    }

    @JCStressTest
    @Outcome(id = "-1", expect = ACCEPTABLE, desc = "The sender that waits for space finds the session closed.")
    @State
    public static class SharedAndLeft {
        private final SenderQueue queue = new SenderQueue();

        public SharedAndLeft() {
            queue.fill();
        }

        @Actor
        public void sends(I_Result seen) {
            seen.r1 = queue.sendOne(7);
        }

        @Actor
        public void leaves() {
            queue.leaveServer();
        }
    }
}
