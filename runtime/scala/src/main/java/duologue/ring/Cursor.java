package duologue;

import java.lang.invoke.VarHandle;

/**
 * A side's position in its session and in the ring, and the operations on it that do not check for other uses.
 *
 * <h2>The lane</h2>
 *
 * This is the fast path for the messages of a long run: the positions of the next messages, so that each message costs only a check
 * that the lane is open, and a store or a load. A side opens its lane in the middle of a run, for a number of turns in one segment,
 * chosen so that none of them needs anything else: no check for space, no other segment, no progress report. Only the owning thread
 * uses the lane, and it counts only turns. A sender's lane is for messages with fences or, if the receiver has promised not to sleep
 * (see {@link FenceElision}), for messages without. Every other use, in any thread, {@link #settle}s the lane first and learns how
 * many messages went through; it sees what the owner wrote, because it has claimed the turn that the owner released.
 */
abstract class Cursor extends Ownership {
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
    Pipe.Segment segment;
    int slot;

    final Pipe pipe;
    final boolean isClient;
    /** The number of messages of the session that this side has sent or received. */
    long sequence;
    /** How many messages can certainly be sent before the receiver's progress has to be read. */
    int credit;
    boolean speaks;
    /** How many messages in runs have been received since this side last slept. */
    int calm;

    Cursor(Object side, Pipe pipe, boolean isClient, boolean speaks) {
        super(side);
        this.pipe = pipe;
        this.segment = pipe.first;
        this.isClient = isClient;
        this.speaks = speaks;
        this.credit = pipe.slots;
    }

    /** Advances in the ring, past a message after which the same side sends again. */
    final void step() {
        if (++slot == segment.slots()) {
            slot = 0;
            segment = segment.next == null ? pipe.first : segment.next;
        }
    }

    /** Reverses the direction: the turn to send passes to the other side, or to this one. */
    final void turnAround() {
        if (segment != pipe.first) {
            // Storing a reference dirties the collector's card, and the cards of both side states share a cache line.
            segment = pipe.first;
        }
        slot = 0;
        speaks = !speaks;
        credit = pipe.slots;
    }

    /** The exception for a use by the wrong side, which generated code does not allow. */
    final IllegalStateException outOfTurn(String what) {
        return new IllegalStateException("not this side's turn to " + what + " in a session of " + pipe.protocol);
    }

    // ---- sending

    /** Whether the receiver of an unbounded run has made enough progress that there is space. Updates the credit. */
    final boolean gainsRoom() {
        if (pipe.unbounded) {
            credit = (int) Math.max(0, pipe.slots - (sequence - pipe.consumed));
        }
        return credit > 0;
    }

    /** Publishes the message whose payload is in the slot, then executes the fence. */
    final void publish(long word) {
        Pipe.WORD.setRelease(segment.words, Pipe.at(slot), word);
        VarHandle.fullFence();
    }

    /** Called before the message in the last slot is published, so that a receiver that gets there finds the next segment. */
    final void growAtEnd() {
        if (slot + 1 == segment.slots()) {
            segment.grow(pipe.first, pipe.slots());
        }
    }

    // ---- receiving

    /** Whether this side's next operation will not wait: the message is there, a side has been abandoned, or there is space. */
    abstract boolean isReady();

    /** Whether the next message is in the ring. */
    final boolean hasMessage() {
        return Pipe.holds((long) Pipe.WORD.getAcquire(segment.words, Pipe.at(slot)), sequence + 1);
    }

    /** Whether the awaited message continues a run. */
    final boolean isInRun() {
        return slot != 0 || segment != pipe.first;
    }

    /**
     * The word of the next message, or 0 if it is not there. If the message contains endpoints, it has been taken for this side.
     */
    final long poll() {
        long[] words = segment.words;
        int at = Pipe.at(slot);
        long word = (long) Pipe.WORD.getAcquire(words, at);
        if (!Pipe.holds(word, sequence + 1)) {
            return 0;
        }
        return (word & Pipe.CARGO) == 0 || Pipe.takeEndpoints(words, at, word) ? word : 0;
    }

    /** The slot of the next message, unless the message goes through the lane. */
    final int slot() {
        return slot;
    }

    /** The payload of the message in this slot, if it is a single primitive value. */
    final long number(int slot) {
        return segment.words[Pipe.at(slot) + 1];
    }

    /**
     * Takes the payload of the message in this slot, whose word this is; null if the payload is not an object. An object can be
     * taken once.
     */
    final Object payload(int slot, long word) {
        if ((word & Pipe.OBJECT) == 0) {
            return null;
        }
        Object payload = segment.take(slot);
        if (payload == null) {
            throw new IllegalStateException("the payload was taken by another use");
        }
        return (word & Pipe.CARGO) != 0 ? ((EndpointPayload) payload).payload : payload;
    }

    // ---- the lane

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
     * Closes the lane, which is open, and advances to the position that it has reached by this turn, accounting for the messages
     * that went through it.
     */
    final void settle(long turn) {
        until = CLOSED;
        int count = (int) (turn - base) - slot;
        slot += count;
        sequence += count;
        if (speaks) {
            credit -= count;
        } else {
            calm += count;
        }
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
        int at = Pipe.at((int) (turn - base));
        words[at + 1] = number;
        Pipe.WORD.setRelease(words, at, stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX));
    }

    /** Like {@link #storeNumber}, for an object. Two methods, because compilers inline short ones. */
    final void storeObject(long turn, int index, Object payload) {
        Pipe.Segment segment = this.segment;
        int slot = (int) (turn - base);
        segment.put(slot, payload);
        long word = stamp + (turn << Pipe.NUMBER) + ((long) index << Pipe.INDEX | Pipe.OBJECT);
        Pipe.WORD.setRelease(segment.words, Pipe.at(slot), word);
    }

    /**
     * The word of the message of this turn, if the lane leads to it and it is there; otherwise 0. The caller then ends the use as
     * an owner's.
     */
    final long peek(long turn) {
        if (!leads(turn)) {
            return 0;
        }
        long word = (long) Pipe.WORD.getAcquire(segment.words, Pipe.at((int) (turn - base)));
        return ((word ^ stamp + (turn << Pipe.NUMBER)) & SAME) == 0 ? word : 0;
    }

    /** The slot of the message of this turn, which {@link #peek} has found. */
    final int slotOf(long turn) {
        return (int) (turn - base);
    }
}
