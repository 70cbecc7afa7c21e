package duologue;

/** When this side has to write something so that the peer knows that it is there, and whether the peer is. */
final class Heartbeat {
    private static final long SECOND = 1_000_000_000L;

    /** After how many nanoseconds without a byte this side writes, and the peer counts as lost; 0 means never. */
    private final long own;
    private final long silence;
    /** When this side last wrote, and when it last read a byte or was not reading, as {@link Clock#now}. */
    private volatile long writtenAt = Clock.now();
    private volatile long readAt = writtenAt;
    private volatile boolean isLooking;

    /** The heartbeats of this side and of the peer are in seconds, and 0 means none. */
    Heartbeat(int own, int peers) {
        this.own = own * SECOND / 2;
        this.silence = 3 * peers * SECOND;
    }

    /** This side has written. */
    void wrote() {
        if (own > 0) {
            writtenAt = Clock.now();
        }
    }

    /** This side has read as much as there was, which was something if {@code isNews} is set. */
    void read(boolean isNews) {
        if (silence > 0) {
            isLooking = true;
            if (isNews) {
                readAt = Clock.now();
            }
        }
    }

    /** Whether it is time to write. */
    boolean isDue() {
        return own > 0 && Clock.now() - writtenAt >= own;
    }

    /** Whether the peer has been silent for too long. {@code look} reads, if this side may: silence counts only while it does. */
    boolean isPeerLost(Runnable look) {
        if (silence == 0 || Clock.now() - readAt < silence) {
            return false;
        }
        isLooking = false;
        look.run();
        if (!isLooking) {
            readAt = Clock.now();
        }
        return Clock.now() - readAt >= silence;
    }

    /** What the loss of the peer is reported as. */
    String detail() {
        return "nothing arrived from the peer for three times its heartbeat of " + silence / (3 * SECOND) + " s";
    }
}
