package duologue;

import java.lang.ref.PhantomReference;

/**
 * Marks a side state as a side's, and abandons the session after the garbage collector has found that side unreachable. The
 * side state holds its watch and the peer's side state holds the side state: so the watch lives as long as there is a peer to
 * notify, and no list of all sessions is needed. A side state is itself the watch over its first side, so that a session needs
 * no additional object; a side that takes over the side state brings a watch of its own.
 *
 * <p>The fields pad those of a side state, as {@link Padding} does. There are fewer of them, because a reference has fields of
 * its own, which only the collector changes.
 */
abstract class Watch extends PhantomReference<Object> implements Reaper.Watched {
    /** Also padding, where references have 32 bits. */
    private final Reaper reaper;
    long $1, $2, $3;

    /** The watch of a side state whose side has been abandoned. */
    static final Watch LEFT = new Watch() {
        @Override
        public void leave() {}
    };

    Watch(Object side) {
        this(side, Reaper.current());
    }

    private Watch(Object side, Reaper reaper) {
        super(side, reaper.unreachable);
        this.reaper = reaper;
    }

    /** Watches nothing, and keeps no reaper. */
    private Watch() {
        super(null, null);
        this.reaper = null;
    }
}
