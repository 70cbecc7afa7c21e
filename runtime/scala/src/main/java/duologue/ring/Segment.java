package duologue;

/**
 * A part of a session's ring. The ring begins small and grows by another segment when a run first comes to the end of the last
 * one, up to the size that the protocol needs. The sender creates the segment before it publishes the message that precedes it,
 * so a receiver that gets there finds it.
 */
final class Segment {
    /** How many slots a ring begins with. */
    private static final int FIRST = 4;
    /** Each further segment has this many times the slots of all earlier ones. */
    private static final int GROWTH = 3;

    /**
     * How many longs are unused before the slots, in addition to the header of the array, and after them. They keep every
     * neighbor, wherever the collector moves it, out of the cache lines of the slots, which the two sides pass back and forth.
     */
    private static final int FRONT = 5;
    private static final int BACK = 6;

    /** The word of each slot, {@link #at} its index, followed by the number. */
    final long[] words;
    /** The objects of the slots; created by the sender of the first one. */
    Object[] payloads;
    /** The segment after this one, which a side that sweeps the ring may read at any time. */
    volatile Segment next;

    private Segment(int slots) {
        this.words = new long[FRONT + 2 * slots + BACK];
    }

    /** The first segment of a ring of {@code slots} slots. */
    static Segment first(int slots) {
        return new Segment(Math.min(FIRST, slots));
    }

    /** How many slots there are. */
    int slots() {
        return words.length - FRONT - BACK >> 1;
    }

    /** The index of this slot's word in {@link #words}. */
    static int at(int slot) {
        return FRONT + (slot << 1);
    }

    /** The segment after this one, created if necessary; {@code first} if the ring already has all of its {@code slots}. */
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

    /** Takes the object out of a slot. */
    Object take(int slot) {
        Object payload = payloads[slot];
        payloads[slot] = null;
        return payload;
    }
}
