package duologue;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import java.nio.ByteBuffer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * A near side that waits for space, while the transport's thread writes. The first number is whether the near side waits, the
 * second how often it was woken: it never waits without a wake-up.
 */
public final class RemoteStates {
    private RemoteStates() {}

    /** A connection that can be written, or not. */
    private static final class Connection implements Transport {
        private volatile boolean hasSpace;
        private volatile boolean isArmed;

        @Override
        public int read(ByteBuffer into) {
            return 0;
        }

        @Override
        public int write(ByteBuffer from) {
            int count = hasSpace ? from.remaining() : 0;
            from.position(from.position() + count);
            return count;
        }

        @Override
        public boolean await(boolean forSpace, long nanos) {
            return true;
        }

        @Override
        public void wake() {}

        @Override
        public void arm(boolean reads, boolean writes) {
            isArmed |= writes;
        }

        @Override
        public void collect() {}

        @Override
        public void watchTime() {}

        @Override
        public void close() {}
    }

    /** One message of as many bytes as are collected before the sender has to wait, any number of times. */
    private static final class Blocks extends WireState {
        private static final byte[] BLOCK = new byte[Outbox.FULL];

        private Blocks() {
            super("blocks", true, "block", BLOCK.length, BLOCK.length, 0);
        }

        @Override
        public void put(int index, Object payload, long number, PayloadWriter out) {
            out.raw(BLOCK);
        }

        @Override
        public Object get(int index, PayloadReader in) {
            return null;
        }
    }

    private static final class Count extends Waiter {
        private volatile int count;

        @Override
        void wake() {
            count++;
        }
    }

    /** A near side that has sent a block, which could not be written at once. */
    private abstract static class Blocked {
        private static final WireProtocol PROTOCOL = new WireProtocol("blocks", "00".repeat(16), 0, new Blocks());

        final Connection connection = new Connection();
        final RemoteState far = new RemoteState(PROTOCOL, true, connection, 1024, 1024, Outbox.FULL, false, null);
        final Side side = far.start();
        final Count waiter = new Count();

        Blocked() {
            if (!side.state.send(1, 0, null, 0, Pipe.STAY) || side.state.hasSpace()) {
                throw new AssertionError("the near side has to wait");
            }
            connection.hasSpace = true;
        }

        /** The transport's thread does what it was armed for. */
        int woken() {
            if (connection.isArmed) {
                far.ready();
            }
            return Math.min(waiter.count, 1);
        }
    }

    /** What the tests have in common. */
    @Outcome(id = {"0, 0", "0, 1"}, expect = ACCEPTABLE, desc = "There is space again.")
    @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "It waits, and is woken.")
    public static final class Woken {}

    @JCStressTest
    @JCStressMeta(Woken.class)
    @State
    public static class SharedWaitsWhileItIsWritten extends Blocked {
        private final SenderQueue queue = new SenderQueue();

        @Actor
        public void waits(II_Result seen) {
            seen.r1 = queue.join(waiter, side.state) ? 1 : 0;
        }

        @Actor
        public void writes() {
            far.flush(false);
        }

        @Arbiter
        public void ends(II_Result seen) {
            seen.r2 = woken();
        }
    }

    @JCStressTest
    @JCStressMeta(Woken.class)
    @State
    public static class SharedWaitsAfterItWasWritten extends Blocked {
        private final SenderQueue queue = new SenderQueue();

        public SharedWaitsAfterItWasWritten() {
            far.flush(false);
            connection.isArmed = false;
        }

        @Actor
        public void waits(II_Result seen) {
            seen.r1 = queue.join(waiter, side.state) ? 1 : 0;
        }

        @Actor
        public void looks() {
            far.pump(true);
        }

        @Arbiter
        public void ends(II_Result seen) {
            seen.r2 = woken();
        }
    }

    @JCStressTest
    @JCStressMeta(Woken.class)
    @State
    public static class WaitsWhileItIsWritten extends Blocked {
        @Actor
        public void waits(II_Result seen) {
            seen.r1 = side.state.announce(waiter) ? 1 : 0;
        }

        @Actor
        public void writes() {
            far.pump(true);
        }

        @Arbiter
        public void ends(II_Result seen) {
            seen.r2 = woken();
        }
    }
}
