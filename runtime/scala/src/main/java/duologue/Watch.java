package duologue;

import java.lang.ref.PhantomReference;

/**
 * What shows that a seat is a side's, and leaves the session after the garbage collector has found that side unreachable. The seat holds
 * its watch and the peer's seat holds the seat: so the watch lives as long as there is a peer to tell, and no list of all sessions is
 * needed. A seat is itself the watch over its first side, so that a session needs no object more; a side that takes the seat over brings
 * one of its own.
 *
 * <p>The fields are {@link Padding} for a seat's, less what a reference has of its own, which only the collector changes.
 */
abstract class Watch extends PhantomReference<Side> {
    /** Padding, too, where references have 32 bits. */
    private final Reaper reaper;
    long $1, $2, $3;

    /** The watch over the seat of a side that has been left. */
    static final Watch LEFT = new Watch() {
        @Override
        Seat seat() {
            throw new IllegalStateException("nobody's seat");
        }
    };

    Watch(Side side) {
        this(side, Reaper.current());
    }

    private Watch(Side side, Reaper reaper) {
        super(side, reaper.unreachable);
        this.reaper = reaper;
    }

    /** Watches nothing, and keeps no reaper. */
    private Watch() {
        super(null, null);
        this.reaper = null;
    }

    /** The seat that is watched. */
    abstract Seat seat();
}
