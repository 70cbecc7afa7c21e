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

/**
 * Messages that are sent while a thread receives. An outcome that no line accepts is forbidden, and so is an actor that does not
 * terminate.
 */
public final class Messages {
    private Messages() {}

    @JCStressTest
    @Outcome(id = "7, 8", expect = ACCEPTABLE, desc = "Both arrive, in order.")
    @State
    public static class InOrder {
        private final Talk talk = new Talk();

        @Actor
        public void sends() {
            talk.send(7);
            talk.send(8);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r1 = talk.recv();
            seen.r2 = talk.recv();
        }
    }

    @JCStressTest
    @Outcome(id = "7, 8", expect = ACCEPTABLE, desc = "Both arrive, in order, and reach the receiver, which has promised not to sleep.")
    @State
    public static class InOrderWithoutFences {
        private final Talk talk = new Talk();

        public InOrderWithoutFences() {
            talk.hurry();
        }

        @Actor
        public void sends() {
            talk.send(7);
            talk.send(8);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r1 = talk.recv();
            seen.r2 = talk.recv();
        }
    }

    @JCStressTest
    @Outcome(id = "2, 7", expect = ACCEPTABLE, desc = "Each side receives the other's message, even after a run without fences.")
    @State
    public static class ThereAndBackWithoutFences {
        private final Talk talk = new Talk();

        public ThereAndBackWithoutFences() {
            talk.hurry();
        }

        @Actor
        public void asks(II_Result seen) {
            seen.r1 = talk.ask(7);
        }

        @Actor
        public void answers(II_Result seen) {
            seen.r2 = talk.answer();
        }
    }

    @JCStressTest
    @Outcome(id = "2, 7", expect = ACCEPTABLE, desc = "Each side receives the other's message, and not its own.")
    @State
    public static class ThereAndBack {
        private final Talk talk = new Talk();

        @Actor
        public void asks(II_Result seen) {
            seen.r1 = talk.ask(7);
        }

        @Actor
        public void answers(II_Result seen) {
            seen.r2 = talk.answer();
        }
    }

    @JCStressTest
    @Outcome(id = "7", expect = ACCEPTABLE, desc = "Called once, with the message.")
    @State
    public static class Callback {
        private final Talk talk = new Talk();

        @Actor
        public void sends() {
            talk.send(7);
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
    @Outcome(id = "7, -2", expect = ACCEPTABLE, desc = "The message came in time.")
    @Outcome(id = "0, 7", expect = ACCEPTABLE, desc = "The message came too late, and is still there.")
    @State
    public static class TimeLimit {
        private final Talk talk = new Talk();

        @Actor
        public void sends() {
            talk.sendOnce(7);
        }

        @Actor
        public void receives(II_Result seen) {
            seen.r1 = talk.recvWithin(2000);
        }

        @Arbiter
        public void looks(II_Result seen) {
            seen.r2 = seen.r1 == 0 ? talk.tryRecv() : -2;
        }
    }

    @JCStressTest
    @Outcome(id = "1, -2, 7", expect = ACCEPTABLE, desc = "The first thread used the endpoint.")
    @Outcome(id = "-2, 1, 8", expect = ACCEPTABLE, desc = "The second thread used it.")
    @State
    public static class SentTwice {
        private final Talk talk = new Talk();

        @Actor
        public void one(III_Result seen) {
            seen.r1 = talk.sendOnce(7);
        }

        @Actor
        public void two(III_Result seen) {
            seen.r2 = talk.sendOnce(8);
        }

        @Arbiter
        public void receives(III_Result seen) {
            seen.r3 = talk.tryRecv();
        }
    }

    @JCStressTest
    @Outcome(id = "7, -2", expect = ACCEPTABLE, desc = "The first thread used the endpoint.")
    @Outcome(id = "-2, 7", expect = ACCEPTABLE, desc = "The second thread used it.")
    @Outcome(id = "7, 8", expect = ACCEPTABLE, desc = "The second thread saw the next endpoint.")
    @Outcome(id = "8, 7", expect = ACCEPTABLE, desc = "The first thread saw the next endpoint.")
    @State
    public static class ReceivedTwice {
        private final Talk talk = new Talk();

        public ReceivedTwice() {
            talk.send(7);
            talk.send(8);
        }

        @Actor
        public void one(II_Result seen) {
            seen.r1 = talk.recv();
        }

        @Actor
        public void two(II_Result seen) {
            seen.r2 = talk.recv();
        }
    }

    @JCStressTest
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "The sender got a slot in the end, and nothing was lost.")
    @State
    public static class Room {
        private final Talk talk = new Talk();

        public Room() {
            for (int i = 1; i <= 255; i++) {
                talk.send(i);
            }
        }

        @Actor
        public void sends(II_Result seen) {
            seen.r1 = talk.send(256);
        }

        @Actor
        public void receives(II_Result seen) {
            int wrong = 0;
            for (int i = 1; i <= 256; i++) {
                wrong += talk.recv() == i ? 0 : 1;
            }
            seen.r2 = wrong;
        }
    }
}
