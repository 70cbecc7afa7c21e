package duologue;

/**
 * The fast path for the messages of a long run: the positions of the next messages, so that each message costs only a check that
 * the lane is open, and a store or a load.
 *
 * <p>A side opens its lane in the middle of a run, for a number of turns in one segment, chosen so that none of them needs
 * anything else: no check for space, no other segment, no progress report. Only the owning thread uses the lane, and it counts
 * only turns. A sender's lane is for messages with fences or, if the receiver has promised not to sleep (see {@link
 * FenceElision}), for messages without. Every other use, in any thread, {@link #close}s the lane first and learns how many
 * messages went through; it sees what the owner wrote, because it has claimed the turn that the owner released.
 */
abstract class Lane extends Ownership {
    /** The part of a word that is the same for all messages of a lane, except for their numbers. */
    private static final long SAME = ~(0xffL << Pipe.INDEX | Pipe.OBJECT | Pipe.EAGER);

    private static final long CLOSED = Long.MIN_VALUE;

    /** The turn after the last one of the lane, or CLOSED. */
    private long until = CLOSED;
    /** The turn that corresponds to slot 0 of the segment. */
    private long base;
    /** The word of a message without its index and OBJECT, minus the turn in the position of the message's number. */
    private long stamp;
    /**
     * The position of the next message, or, while the lane is open, of the message that was next when it was opened: a segment of
     * the ring, and a slot in it.
     */
    Segment segment;
    int slot;

    Lane(Object side, Segment segment) {
        super(side);
        this.segment = segment;
    }

    /**
     * Opens the lane for as many messages as fit in this segment before its last slot, but no more than {@code most}. The first
     * has this turn and this word.
     */
    final void open(long turn, int most, long word) {
        int count = Math.min(most, segment.slots() - 1 - slot);
        if (count > 0) {
            this.until = turn + count;
            this.base = turn - slot;
            this.stamp = word - (turn << Pipe.NUMBER);
        }
    }

    /** Whether messages may have gone through since the lane was opened. */
    final boolean isOpen() {
        return until != CLOSED;
    }

    /**
     * Closes the lane, which is open, and advances to the position that it has reached by this turn. Returns how many messages
     * went through.
     */
    final int close(long turn) {
        until = CLOSED;
        int passed = (int) (turn - base) - slot;
        slot += passed;
        return passed;
    }

    /** Whether the calling thread is the owner, and a message of this turn can go through the lane. */
    final boolean leads(long turn) {
        return turn < until && owns(turn);
    }

    /** Whether messages that are sent through the lane have no fences. */
    final boolean isEager() {
        return (stamp & Pipe.EAGER) != 0;
    }

    /** Stores a number at this turn, to which the lane {@link #leads}. */
    final void storeNumber(long turn, int index, long number) {
        long[] words = segment.words;
        int at = Segment.at((int) (turn - base));
        words[at + 1] = number;
        Pipe.WORD.setRelease(words, at, stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX));
    }

    /** Like {@link #storeNumber}, for an object. */
    final void storeObject(long turn, int index, Object payload) {
        Segment segment = this.segment;
        int slot = (int) (turn - base);
        segment.put(slot, payload);
        long word = stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX | Pipe.OBJECT);
        Pipe.WORD.setRelease(segment.words, Segment.at(slot), word);
    }

    /**
     * The word of the message of this turn, if the lane leads to it and it is there; otherwise 0. The caller then ends the use as
     * an owner's.
     */
    final long peek(long turn) {
        if (!leads(turn)) {
            return 0;
        }
        long word = (long) Pipe.WORD.getAcquire(segment.words, Segment.at((int) (turn - base)));
        return ((word ^ stamp + (turn << Pipe.NUMBER)) & SAME) == 0 ? word : 0;
    }

    /** The slot of the message of this turn, which {@link #peek} has found. */
    final int slotOf(long turn) {
        return (int) (turn - base);
    }
}
