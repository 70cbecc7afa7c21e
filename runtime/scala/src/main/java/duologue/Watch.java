package duologue;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;

/**
 * What shows that a seat is a side's, and leaves the session after the garbage collector has found that side unreachable. The seat holds
 * its watch and the peer's seat holds the seat: so the watch lives as long as there is a peer to tell, and no list of all sessions is
 * needed. A seat is itself the watch over its first side, so that a session needs no object more; a side that takes the seat over brings
 * one of its own.
 *
 * <p>The fields are {@link Padding} for a seat's, less what a reference has of its own, which only the collector changes.
 */
abstract class Watch extends PhantomReference<Side> {
    int $0;
    long $1, $2, $3;

    private static final ReferenceQueue<Side> UNREACHABLE = new ReferenceQueue<>();

    /** The watch over the seat of a side that has been left. */
    static final Watch LEFT = new Watch(null) {
        @Override
        Seat seat() {
            throw new IllegalStateException("nobody's seat");
        }
    };

    Watch(Side side) {
        super(side, UNREACHABLE);
    }

    /** The seat that is watched. */
    abstract Seat seat();

    static {
        Thread reaper = new Thread(null, Watch::reap, "duologue-reaper", 0, false);
        reaper.setDaemon(true);
        reaper.setContextClassLoader(null);
        reaper.start();
    }

    private static void reap() {
        for (;;) {
            try {
                Watch watch = (Watch) UNREACHABLE.remove();
                watch.seat().leave(watch);
            } catch (InterruptedException ignored) {
                // Nobody but the virtual machine's end stops this thread.
            } catch (Throwable thrown) {
                Waiter.report(thrown);
            }
        }
    }
}
