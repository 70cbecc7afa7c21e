package duologue;

/**
 * A part of a session's ring. The ring begins small and grows by another segment when a run first comes to the end of the last
 * one, up to the size that the protocol needs. Its sender makes the segment before it publishes the message in front of it, so
 * the receiver that comes there finds it.
 */
final class Segment {
    /** How many slots a ring begins with. */
    private static final int FIRST = 4;
    /** Each further segment has so many times the slots of all before it. */
    private static final int GROWTH = 3;

    /**
     * How many longs lie unused in front of the slots, with the header of the array, and behind them: so many that no neighbour, wherever
     * the collector moves them, lies in a cache line with a slot, which is what the two sides hand to and fro.
     */
    private static final int FRONT = 5;
    private static final int BACK = 6;

    /** The word of each slot, {@link #at} its place, and behind it the number. */
    final long[] words;
    /** The objects of the slots; made by the sender of the first one. */
    Object[] payloads;
    /** The segment behind this one, which a side that sweeps the ring may see at any time. */
    volatile Segment next;

    private Segment(int slots) {
        this.words = new long[FRONT + 2 * slots + BACK];
    }

    /** The first segment of a ring of `slots`. */
    static Segment first(int slots) {
        return new Segment(Math.min(FIRST, slots));
    }

    /** How many slots there are. */
    int slots() {
        return words.length - FRONT - BACK >> 1;
    }

    /** Where among the words that of this slot is. */
    static int at(int slot) {
        return FRONT + (slot << 1);
    }

    /** The segment behind this one; `first`, if all together have the `slots` of the ring. */
    Segment grow(Segment first, int slots) {
        if (next != null) {
            return next;
        }
        int so = 0;
        for (Segment each = first; each != null; each = each.next) {
            so += each.slots();
        }
        if (so >= slots) {
            return first;
        }
        next = new Segment(Math.min(GROWTH * so, slots - so));
        return next;
    }

    void put(int slot, Object payload) {
        if (payloads == null) {
            payloads = new Object[slots()];
        }
        payloads[slot] = payload;
    }

    /** The object of a slot, or null. */
    Object payload(int slot) {
        return payloads == null ? null : payloads[slot];
    }

    /** The object of a slot, once. */
    Object take(int slot) {
        Object payload = payloads[slot];
        payloads[slot] = null;
        return payload;
    }
}
