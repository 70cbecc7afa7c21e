package duologue;

import java.lang.ref.PhantomReference;

/**
 * Marks a seat as a side's, and abandons the session after the garbage collector has found that side unreachable. The seat holds
 * its watch and the peer's seat holds the seat: so the watch lives as long as there is a peer to notify, and no list of all
 * sessions is needed. A seat is itself the watch over its first side, so that a session needs no additional object; a side that
 * takes over the seat brings a watch of its own.
 *
 * <p>The fields pad those of a seat, as {@link Padding} does. There are fewer of them, because a reference has fields of its own,
 * which only the collector changes.
 */
abstract class Watch extends PhantomReference<Side> {
    /** Also padding, where references have 32 bits. */
    private final Reaper reaper;
    long $1, $2, $3;

    /** The watch of a seat whose side has been abandoned. */
    static final Watch LEFT = new Watch() {
        @Override
        Seat seat() {
            throw new IllegalStateException("an abandoned side has no seat");
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
