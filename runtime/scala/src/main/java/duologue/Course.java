package duologue;

import java.lang.invoke.VarHandle;

/** How far a side is in its session and in the ring, and what it does there without asking who else is about. */
abstract class Course extends Lane {
    final Pipe pipe;
    final boolean isClient;
    /** How many messages of the session this side has sent or taken. */
    long sequence;
    /** How many messages may certainly be sent before the receiver has to be asked how far it is. */
    int credit;
    boolean speaks;
    /** How many messages of runs were found since this side slept. */
    int calm;

    Course(Side side, Pipe pipe, boolean isClient, boolean speaks) {
        super(side, pipe.first);
        this.pipe = pipe;
        this.isClient = isClient;
        this.speaks = speaks;
        this.credit = pipe.room;
    }

    /** What tells this side's messages from the other's. */
    static int mark(boolean isClient) {
        return isClient ? Pipe.CLIENT : 0;
    }

    /** Takes into account what went through the lane. */
    final void settle(long turn) {
        int count = close(turn);
        sequence += count;
        if (speaks) {
            credit -= count;
        } else {
            calm += count;
        }
    }

    /** Goes on in the ring, behind a message after which the same side speaks. */
    final void step() {
        if (++slot == segment.slots()) {
            slot = 0;
            segment = segment.next == null ? pipe.first : segment.next;
        }
    }

    /** Gives the word to the other side, or takes it. */
    final void turnAround() {
        if (segment != pipe.first) {
            // Storing a reference dirties the collector's card, and the cards of both seats share a cache line.
            segment = pipe.first;
        }
        slot = 0;
        speaks = !speaks;
        credit = pipe.room;
    }

    /** What a use by the wrong side throws, which generated code does not allow. */
    final IllegalStateException outOfTurn(String what) {
        return new IllegalStateException("not this side's turn to " + what + " in a session of " + pipe.protocol);
    }

    // ---- sending

    /** Whether the receiver of an unbounded run has got so far that there is room. */
    final boolean gainsRoom() {
        if (pipe.unbounded) {
            credit = (int) Math.max(0, pipe.room - (sequence - pipe.consumed));
        }
        return credit > 0;
    }

    /** Publishes the message whose payload lies in the slot, and makes the fence. */
    final void publish(long word) {
        Pipe.WORD.setRelease(segment.words, Segment.at(slot), word);
        VarHandle.fullFence();
    }

    /** Before the message in the last slot is published, so that the receiver that comes there finds the segment behind it. */
    final void growAtEnd() {
        if (slot + 1 == segment.slots()) {
            segment.grow(pipe.first, pipe.slots());
        }
    }

    // ---- receiving

    /** Whether the next message is there. */
    final boolean hasMessage() {
        return Pipe.holds((long) Pipe.WORD.getAcquire(segment.words, Segment.at(slot)), sequence + 1);
    }

    /** Whether the message that is waited for continues a run. */
    final boolean isInRun() {
        return slot != 0 || segment != pipe.first;
    }

    /** The word of the next message; 0 if it is not there. A message with endpoints is this side's then. */
    final long poll() {
        long[] words = segment.words;
        int at = Segment.at(slot);
        long word = (long) Pipe.WORD.getAcquire(words, at);
        if (!Pipe.holds(word, sequence + 1)) {
            return 0;
        }
        return (word & Pipe.CARGO) == 0 || takeCargo(words, at, word) ? word : 0;
    }

    /** Takes a message with endpoints, for whoever is the first. */
    static boolean takeCargo(long[] words, int at, long word) {
        return (word & Pipe.TAKEN) == 0 && Pipe.WORD.compareAndSet(words, at, word, word | Pipe.TAKEN);
    }

    /** The slot of the next message, if it does not go by the lane. */
    final int slot() {
        return slot;
    }

    /** The payload of the message in this slot, if it is a single primitive value. */
    final long number(int slot) {
        return segment.words[Segment.at(slot) + 1];
    }

    /** The payload of the message in this slot, which has this word, if it is an object, once. */
    final Object payload(int slot, long word) {
        if ((word & Pipe.OBJECT) == 0) {
            return null;
        }
        Object payload = segment.take(slot);
        if (payload == null) {
            throw new IllegalStateException("the payload was taken by another use");
        }
        return (word & Pipe.CARGO) != 0 ? ((Cargo) payload).payload : payload;
    }
}
