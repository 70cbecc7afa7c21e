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
    /** The turn with which it was opened. */
    private long opened;
    /** The turn that would be at slot 0 of the segment. */
    private long base;
    /** What the word of a message is, less its turn in the place of the number, its index and whether it is an object. */
    private long stamp;
    /** That in which the side is. */
    private Segment segment;

    /** Opens the lane for `count` messages, if there are any: the first is of this turn, lies in this slot and has this word. */
    final void open(long turn, int slot, int count, Segment segment, long word) {
        if (count > 0) {
            this.opened = turn;
            this.until = turn + count;
            this.base = turn - slot;
            this.stamp = word - (turn << Pipe.NUMBER);
            if (this.segment != segment) {
                this.segment = segment;
            }
        }
    }

    /** Closes the lane; how many messages went through, now that it is this turn. */
    final int close(long turn) {
        if (until == CLOSED) {
            return 0;
        }
        until = CLOSED;
        return (int) (turn - opened);
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
    final void pushNumber(long turn, int index, long number) {
        long[] words = segment.words;
        int at = Segment.at((int) (turn - base));
        words[at + 1] = number;
        Pipe.WORD.setRelease(words, at, stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX));
    }

    /** As {@link #pushNumber}, an object. */
    final void pushObject(long turn, int index, Object payload) {
        Segment segment = this.segment;
        int slot = (int) (turn - base);
        segment.put(slot, payload);
        long word = stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX | Pipe.OBJECT);
        Pipe.WORD.setRelease(segment.words, Segment.at(slot), word);
    }

    /** The word of the message of this turn, if the lane leads to it and it is there; else 0. */
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
