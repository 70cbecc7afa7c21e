package duologue;

import java.lang.invoke.VarHandle;

/** A side's position in its session and in the ring, and the operations on it that do not check for other uses. */
abstract class Cursor extends Lane {
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
        super(side, pipe.first);
        this.pipe = pipe;
        this.isClient = isClient;
        this.speaks = speaks;
        this.credit = pipe.slots;
    }

    /** Closes the lane and accounts for the messages that went through it. */
    final void settle(long turn) {
        int count = close(turn);
        sequence += count;
        if (speaks) {
            credit -= count;
        } else {
            calm += count;
        }
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
        Pipe.WORD.setRelease(segment.words, Segment.at(slot), word);
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
        return Pipe.holds((long) Pipe.WORD.getAcquire(segment.words, Segment.at(slot)), sequence + 1);
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
        int at = Segment.at(slot);
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
        return segment.words[Segment.at(slot) + 1];
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
}
