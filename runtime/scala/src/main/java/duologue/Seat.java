package duologue;

import java.util.ArrayDeque;

/**
 * One side's place in its session: how far it is. Only the thread that has claimed the seat's {@link Side} touches it, but
 * for {@link #waiter}, which the peer reads. A seat never refers to its side, so that the side can become unreachable.
 */
final class Seat extends Padding {
    final Pipe pipe;
    Seat peer;
    /** Keeps the watch over this seat's side alive for as long as the peer lives; null once the session is over here. */
    Side.Watch watch;
    /** Who waits for a message here; written before the WAIT bit is set. */
    Waiter waiter;

    /** How long this side looks before it sleeps. */
    final Patience patience = new Patience();
    /** How many messages of the session this side has sent or taken. */
    private long sequence;
    /** Where the next message goes or comes. */
    private int slot;
    /** How many messages may certainly be sent before the receiver has to be asked how far it is. */
    private int credit;
    private boolean speaks;
    private boolean over;
    /** Whether the last message sent found the peer waiting. */
    boolean peerWaits;
    /** The message that was taken last. */
    private int takenIndex;
    private long takenNumber;
    private Object takenPayload;

    Seat(Pipe pipe, boolean speaks) {
        this.pipe = pipe;
        this.speaks = speaks;
        this.credit = pipe.room;
    }

    // ---- sending

    /** Whether there is a slot for one more message. Only in an unbounded run it can be false. */
    boolean hasRoom() {
        if (credit == 0 && pipe.unbounded) {
            credit = (int) Math.max(0, pipe.room - (sequence - pipe.consumed));
        }
        return credit > 0;
    }

    /**
     * Sends; needs room. False if the peer has left: then the payload was not sent and the session is over for this side.
     * The caller releases its side and then calls {@link #wakePeer} if {@link #peerWaits} says so.
     */
    boolean send(int index, Object payload, long number, int then) {
        if (!speaks || over || credit == 0) {
            throw new IllegalStateException("not this side's turn to send in a session of " + pipe.protocol);
        }
        if (!publish(index, payload, number, then)) {
            return false;
        }
        credit--;
        slot = slot + 1 == pipe.payloads.length ? 0 : slot + 1;
        follow(then);
        return true;
    }

    private boolean publish(int index, Object payload, long number, int flags) {
        sequence++;
        if (payload != null) {
            pipe.payloads[slot] = payload;
        }
        pipe.words[Pipe.word(slot) + 1] = number;
        long word = sequence << Pipe.NUMBER | (long) index << Pipe.INDEX | flags;
        long before = (long) Pipe.WORD.getAndSet(pipe.words, Pipe.word(slot), word);
        if ((before & Pipe.LEFT) != 0) {
            pipe.payloads[slot] = null;
            finish();
            return false;
        }
        peerWaits = (before & Pipe.WAIT) != 0;
        return true;
    }

    // ---- waiting

    /** Whether this side's next operation will not wait: the message, or the peer's leaving, or room for a message is there. */
    boolean isReady() {
        return speaks ? hasRoom() : arrived();
    }

    /** Whether the message that is waited for continues a run. */
    boolean isInRun() {
        return slot != 0;
    }

    /** Lets `waiter` be woken when this side is ready. False, and nothing is left behind, if it is ready already. */
    boolean announce(Waiter waiter) {
        if (speaks) {
            pipe.roomWaiter = waiter;
            if (!hasRoom()) {
                return true;
            }
        } else {
            this.waiter = waiter;
            if (arm()) {
                return true;
            }
        }
        forget();
        return false;
    }

    /** Takes back what {@link #announce} left. A waker that is late may still hold the waiter. */
    void retract() {
        if (!speaks) {
            disarm();
        }
        forget();
    }

    private void forget() {
        if (speaks) {
            pipe.roomWaiter = null;
        } else {
            waiter = null;
        }
    }

    void wakePeer() {
        Waiter waiting = peer.waiter;
        if (waiting != null) {
            waiting.wake();
        }
    }

    // ---- receiving

    /** Whether the next message, or the news that the peer has left, is there. */
    boolean arrived() {
        return Pipe.holds((long) Pipe.WORD.getAcquire(pipe.words, Pipe.word(slot)), sequence + 1);
    }

    /** Asks the sender of the next message to wake the {@link #waiter}. False if the message is there already. */
    boolean arm() {
        for (;;) {
            long word = (long) Pipe.WORD.getAcquire(pipe.words, Pipe.word(slot));
            if (Pipe.holds(word, sequence + 1)) {
                return false;
            }
            if (Pipe.WORD.compareAndSet(pipe.words, Pipe.word(slot), word, word | Pipe.WAIT)) {
                return true;
            }
        }
    }

    /** Takes the request back. False if the message has come. */
    boolean disarm() {
        for (;;) {
            long word = (long) Pipe.WORD.getAcquire(pipe.words, Pipe.word(slot));
            if (Pipe.holds(word, sequence + 1)) {
                return false;
            }
            if (Pipe.WORD.compareAndSet(pipe.words, Pipe.word(slot), word, word & ~Pipe.WAIT)) {
                return true;
            }
        }
    }

    /** Takes the message that has {@link #arrived}; false if it is the news that the peer has left. */
    boolean take() {
        if (speaks || over) {
            throw new IllegalStateException("not this side's turn to receive in a session of " + pipe.protocol);
        }
        long word = (long) Pipe.WORD.getAcquire(pipe.words, Pipe.word(slot));
        if ((word & Pipe.CLOSED) != 0) {
            finish();
            return false;
        }
        takenNumber = pipe.words[Pipe.word(slot) + 1];
        Object payload = pipe.payloads[slot];
        if (payload != null) {
            pipe.payloads[slot] = null;
            takenPayload = payload;
        }
        takenIndex = (int) (word >>> Pipe.INDEX) & 0xff;
        sequence++;
        slot = slot + 1 == pipe.payloads.length ? 0 : slot + 1;
        follow((int) word & (Pipe.TURN | Pipe.END));
        return true;
    }

    /** The index of the message that was taken last, among the messages of its state. */
    int takenIndex() {
        return takenIndex;
    }

    /** The payload of the message that was taken last, if it is a single primitive value. */
    long takenNumber() {
        return takenNumber;
    }

    /** The payload of the message that was taken last, once. */
    Object takenPayload() {
        Object payload = takenPayload;
        if (payload == null) {
            return null;
        }
        takenPayload = null;
        return payload instanceof Cargo cargo ? cargo.payload : payload;
    }

    /**
     * Tells the sender of an unbounded run how far this side is, every half ring: often enough, since a sender that waits has
     * filled the ring, and this side passes a half on its way through.
     */
    void tellProgress() {
        if (pipe.unbounded && !speaks && (slot & (pipe.payloads.length / 2 - 1)) == 0) {
            publishProgress();
        }
    }

    private void publishProgress() {
        pipe.consumed = sequence;
        Waiter waiting = pipe.roomWaiter;
        if (waiting != null) {
            waiting.wake();
        }
    }

    private void follow(int then) {
        if (then == Pipe.TURN) {
            slot = 0;
            speaks = !speaks;
            credit = pipe.room;
        } else if (then == Pipe.END) {
            finish();
        }
    }

    // ---- leaving

    private void finish() {
        over = true;
        waiter = null;
        if (watch != null) {
            watch.clear();
            watch = null;
        }
    }

    boolean isOver() {
        return over;
    }

    /** Ends a session that is over from its start. */
    void close() {
        finish();
    }

    /**
     * Leaves the session: what the peer sent is destroyed, what it will send is refused, and it reads what was sent to it up
     * to here. Endpoints inside unread messages leave their sessions in turn; their number and depth cost heap, not stack.
     */
    void leave() {
        ArrayDeque<Side> unread = new ArrayDeque<>(0);
        leave(unread);
        for (Side side = unread.poll(); side != null; side = unread.poll()) {
            side.leave(unread);
        }
    }

    void leave(ArrayDeque<Side> unread) {
        while (!over) {
            if (speaks) {
                if (publish(0, null, 0, Pipe.CLOSED)) {
                    finish();
                    if (peerWaits) {
                        wakePeer();
                    }
                }
                return;
            }
            long word = (long) Pipe.WORD.getAcquire(pipe.words, Pipe.word(slot));
            if (!Pipe.holds(word, sequence + 1)) {
                if (Pipe.WORD.compareAndSet(pipe.words, Pipe.word(slot), word, word | Pipe.LEFT)) {
                    finish();
                    if (pipe.unbounded) {
                        publishProgress();
                    }
                    return;
                }
            } else if (take() && takenPayload instanceof Cargo cargo) {
                for (Handle endpoint : cargo.endpoints) {
                    unread.add(endpoint.$side);
                }
            }
            takenPayload = null;
        }
    }
}
