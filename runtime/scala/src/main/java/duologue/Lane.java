package duologue;

/**
 * The short way for the messages of a long run: where the next ones lie, so that each costs no more than to look whether the way is
 * open and to store or to load.
 *
 * <p>A side opens its lane in the middle of a run: for so many turns, in one segment, that none of them needs anything else, neither
 * room nor another segment nor news of how far it is. Only the owning thread goes by the lane, and it counts nothing but turns. A sender's
 * lane is for messages with fences or, where the receiver has promised not to sleep (see {@link Eagerness}), for messages without. Every
 * other use, in whatever thread, {@link #close}s the lane first and is told how many messages went through; it sees what the owner wrote,
 * because it has claimed the turn that the owner released.
 */
abstract class Lane extends Claims {
    /** The part of a word that is the same for all messages of a lane, but for their numbers. */
    private static final long SAME = ~(0xffL << Pipe.INDEX | Pipe.OBJECT | Pipe.EAGER);

    private static final long CLOSED = Long.MIN_VALUE;

    /** The turn behind the last one of the lane, or CLOSED. */
    private long until = CLOSED;
    /** The turn that would be at slot 0 of the segment. */
    private long base;
    /** What the word of a message is, less its turn in the place of the number, its index and whether it is an object. */
    private long stamp;
    /** Where the next message goes or comes, or did when the lane was opened: a segment of the ring, and a slot in it. */
    Segment segment;
    int slot;

    Lane(Side side, Segment segment) {
        super(side);
        this.segment = segment;
    }

    /**
     * Opens the lane for as many messages as lie in this segment before its last slot, and no more than `most`: the first is of this turn and
     * has this word.
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

    /** Closes the lane, which is open, and goes to where it has led; how many messages went through, now that it is this turn. */
    final int close(long turn) {
        until = CLOSED;
        int passed = (int) (turn - base) - slot;
        slot += passed;
        return passed;
    }

    /** Whether a message of this turn can go by the lane, if the calling thread is the owner. */
    final boolean leads(long turn) {
        return turn < until && owns(turn);
    }

    /** Whether messages that are sent by the lane have no fences. */
    final boolean isEager() {
        return (stamp & Pipe.EAGER) != 0;
    }

    /** Stores a number in the lane, which {@link #leads} there. */
    final void storeNumber(long turn, int index, long number) {
        long[] words = segment.words;
        int at = Segment.at((int) (turn - base));
        words[at + 1] = number;
        Pipe.WORD.setRelease(words, at, stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX));
    }

    /** As {@link #storeNumber}, an object. */
    final void storeObject(long turn, int index, Object payload) {
        Segment segment = this.segment;
        int slot = (int) (turn - base);
        segment.put(slot, payload);
        long word = stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX | Pipe.OBJECT);
        Pipe.WORD.setRelease(segment.words, Segment.at(slot), word);
    }

    /** The word of the message of this turn, if the lane leads to it and it is there; else 0. What follows ends the use as an owner's. */
    final long peek(long turn) {
        if (!leads(turn)) {
            return 0;
        }
        long word = (long) Pipe.WORD.getAcquire(segment.words, Segment.at((int) (turn - base)));
        return ((word ^ stamp + (turn << Pipe.NUMBER)) & SAME) == 0 ? word : 0;
    }

    /** The slot of the message of this turn, at which was {@link #peek}ed. */
    final int slotOf(long turn) {
        return (int) (turn - base);
    }
}
