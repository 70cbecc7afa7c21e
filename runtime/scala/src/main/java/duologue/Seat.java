package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;

/**
 * One side's place in its session: how far it is. Only the thread that has claimed it touches it, but for {@link #watch} and
 * {@link #sign}. A seat never refers to its {@link Side}, so that the side can become unreachable.
 */
final class Seat extends Lane {
    private static final VarHandle WATCH;

    static {
        try {
            WATCH = MethodHandles.lookup().findVarHandle(Seat.class, "watch", Side.Watch.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    final Pipe pipe;
    final Sign sign = new Sign();
    private final int mark;
    private Seat peer;
    private Sign there;
    /**
     * The watch over the side that has this seat; null once the session is over here. Kept alive by it for as long as the peer lives.
     * Who takes it away by a CAS leaves the session, or moves the seat to another side.
     */
    private volatile Side.Watch watch;

    /** How many messages of the session this side has sent or taken. */
    private long sequence;
    /** Where the next message goes or comes: a segment of the ring, and a slot in it. */
    private Segment segment;
    private int slot;
    /** How many messages may certainly be sent before the receiver has to be asked how far it is. */
    private int credit;
    private boolean speaks;
    /** What is promised to the sender, as {@link Eagerness} says, and how many messages of runs were found since this side slept. */
    private int promise;
    private int calm;
    private Patience patience;

    Seat(Pipe pipe, boolean isClient, boolean speaks) {
        this.pipe = pipe;
        this.mark = isClient ? Pipe.CLIENT : 0;
        this.speaks = speaks;
        this.credit = pipe.room;
        this.segment = pipe.first;
    }

    /** Makes two seats the two of a session. */
    static void join(Seat one, Seat two) {
        one.peer = two;
        one.there = two.sign;
        two.peer = one;
        two.there = one.sign;
    }

    // ---- who may act

    /** Begins a use by an endpoint of the side with this watch, as {@link Claims#begin}. */
    boolean begin(Side.Watch watch, long turn) {
        if (this.watch != watch || !begin(turn)) {
            return false;
        }
        settle(turn);
        return true;
    }

    /** As {@link #begin}, for a use that others may come in between. */
    boolean claim(Side.Watch watch, long turn) {
        if (!begin(watch, turn)) {
            return false;
        }
        occupy();
        return true;
    }

    /** Takes into account what went through the lane. */
    private void settle(long turn) {
        int count = close(turn);
        if (count != 0) {
            sequence += count;
            slot += count;
            if (speaks) {
                credit -= count;
            } else {
                calm += count;
            }
        }
    }

    /** Opens the lane for as many messages as lie in this segment before its last slot, and no more than `most`. */
    private void open(long turn, int most, long bits) {
        int count = Math.min(most, segment.slots() - 1 - slot);
        open(turn, slot, count, segment, (sequence + 1 << Pipe.NUMBER) + bits);
    }

    /** Gives the seat from one watch to another; false if it no longer had the first. */
    boolean move(Side.Watch from, Side.Watch to) {
        return WATCH.compareAndSet(this, from, to);
    }

    boolean isOver() {
        return watch == null;
    }

    boolean isWatchedBy(Side.Watch watch) {
        return this.watch == watch;
    }

    /** Who waits here for a message; null if nobody does. */
    Waiter waiter() {
        return sign.waiter;
    }

    Patience patience() {
        if (patience == null) {
            patience = new Patience();
        }
        return patience;
    }

    // ---- sending

    /** Whether a message can be sent without waiting, or the peer has left. Only in an unbounded run it can be false. */
    boolean hasRoom() {
        if (credit == 0 && pipe.unbounded) {
            credit = (int) Math.max(0, pipe.room - (sequence - pipe.consumed));
        }
        return credit > 0 || there.left;
    }

    /**
     * Whether a message after which this side speaks again can go by the lane: there is room, no side has left, and the lane is for messages
     * without fences if there need not be any.
     */
    boolean flows(Side.Watch watch, long turn) {
        return leads(turn) && this.watch == watch && !there.left && (there.waiter == Waiter.EAGER) == isEager();
    }

    /** Ends the use by which a message was stored in the lane. The fence and the look at the waiter are those of {@link #send}. */
    void pushed(long turn) {
        if (isEager()) {
            release(turn + 1);
        } else {
            VarHandle.fullFence();
            release(turn + 1);
            wakePeer();
        }
    }

    /**
     * Sends; needs room. False if a side has left: then the payload was not sent and the session is over for this side.
     * The caller ends its use and then calls {@link #wakePeer}.
     */
    boolean send(long turn, int index, Object payload, long number, int then) {
        if (there.left) {
            finish();
            return false;
        }
        if (!speaks || credit == 0) {
            throw new IllegalStateException("not this side's turn to send in a session of " + pipe.protocol);
        }
        if (slot + 1 == segment.slots() && then == Pipe.STAY) {
            segment.grow(pipe.first, pipe.slots());
        }
        boolean isEager = then == Pipe.STAY && there.waiter == Waiter.EAGER;
        long word = ++sequence << Pipe.NUMBER | (long) index << Pipe.INDEX | then | mark;
        long[] words = segment.words;
        int at = Segment.at(slot);
        if (payload == null) {
            words[at + 1] = number;
        } else {
            segment.put(slot, payload);
            word |= Pipe.OBJECT;
            if (payload instanceof Cargo) {
                return sendCargo(words, at, word | Pipe.CARGO, then);
            }
        }
        if (isEager) {
            Pipe.WORD.setRelease(words, at, word | Pipe.EAGER);
        } else {
            Pipe.WORD.setRelease(words, at, word);
            VarHandle.fullFence();
        }
        follow(then);
        if (then == Pipe.STAY && isOwned()) {
            open(turn + 1, credit, (isEager ? Pipe.EAGER : 0) | mark);
        }
        return true;
    }

    private boolean sendCargo(long[] words, int at, long word, int then) {
        Pipe.WORD.setRelease(words, at, word);
        VarHandle.fullFence();
        if ((there.left || sign.left) && Pipe.WORD.compareAndSet(words, at, word, 0L)) {
            finish();
            return false;
        }
        follow(then);
        return true;
    }

    /** Wakes the peer, if it waits. Others may go on in this very thread. */
    void wakePeer() {
        Waiter.wake(there.waiter);
    }

    private void follow(int then) {
        if (then == Pipe.STAY) {
            credit--;
            step();
        } else {
            turn(then);
        }
    }

    private void step() {
        if (++slot == segment.slots()) {
            slot = 0;
            segment = segment.next == null ? pipe.first : segment.next;
        }
    }

    private void turn(int then) {
        if (then == Pipe.TURN) {
            if (segment != pipe.first) {
                // Storing a reference dirties the collector's card, and the cards of both seats share a cache line.
                segment = pipe.first;
            }
            slot = 0;
            speaks = !speaks;
            credit = pipe.room;
        } else {
            finish();
        }
    }

    // ---- waiting

    /** Whether this side's next operation will not wait: the message, or the news that a side has left, or room is there. */
    boolean isReady() {
        return (speaks ? hasRoom() : arrived()) || sign.left;
    }

    /** Whether the next message, or the news that the peer has left, is there. */
    boolean arrived() {
        return hasMessage() || there.left;
    }

    /** Whether the next message is there. */
    boolean hasMessage() {
        return Pipe.holds((long) Pipe.WORD.getAcquire(segment.words, Segment.at(slot)), sequence + 1);
    }

    /** Whether the message that is waited for continues a run. */
    boolean isInRun() {
        return slot != 0 || segment != pipe.first;
    }

    /**
     * Lets `waiter` be woken when this side is ready. False, and nothing is left behind, if it is ready already. The waiter looks
     * again by itself from time to time if {@link #isUnsure} says so.
     */
    boolean announce(Waiter waiter) {
        if (speaks) {
            sign.room = waiter;
            if (!isReady()) {
                return true;
            }
            sign.room = null;
            return false;
        }
        calm = 0;
        sign.waiter = waiter;
        VarHandle.fullFence();
        if (!isReady()) {
            promise = promise == Eagerness.NONE ? Eagerness.NONE : Eagerness.WITHDRAWN;
            return true;
        }
        sign.waiter = null;
        return false;
    }

    /** As {@link #announce}, for a waiter that does not look again by itself. */
    boolean announcePassive(Waiter waiter) {
        if (speaks || promise == Eagerness.NONE) {
            return announce(waiter);
        }
        Eagerness.Unsure unsure = new Eagerness.Unsure(sign, waiter);
        if (!announce(unsure)) {
            return false;
        }
        unsure.start();
        return true;
    }

    /** Whether the sender may miss the waiter. */
    boolean isUnsure() {
        return !speaks && promise != Eagerness.NONE;
    }

    /** Takes back what {@link #announce} left. A waker that is late may still hold the waiter. */
    void retract() {
        if (speaks) {
            sign.room = null;
        } else {
            sign.waiter = null;
        }
    }

    /** Names who is to be woken if this side is left before it is announced. */
    void expect(Waiter waiter) {
        sign.waiter = waiter;
    }

    // ---- receiving

    /** The word of the message of this turn, if it can go by the lane; else 0. What follows {@link #release}s. */
    long peek(Side.Watch watch, long turn) {
        return this.watch == watch ? peek(turn) : 0;
    }

    /** The word of the next message; 0 if it is not there. A message with endpoints is this side's then. */
    long poll() {
        long[] words = segment.words;
        int at = Segment.at(slot);
        long word = (long) Pipe.WORD.getAcquire(words, at);
        if (!Pipe.holds(word, sequence + 1)) {
            return 0;
        }
        return (word & Pipe.CARGO) == 0 || takeCargo(words, at, word) ? word : 0;
    }

    private static boolean takeCargo(long[] words, int at, long word) {
        return (word & Pipe.TAKEN) == 0 && Pipe.WORD.compareAndSet(words, at, word, word | Pipe.TAKEN);
    }

    /** The word of the message that has {@link #arrived}; 0 if it is the news that the peer has left, and then the session is over. */
    long take() {
        if (speaks) {
            throw new IllegalStateException("not this side's turn to receive in a session of " + pipe.protocol);
        }
        long word = poll();
        if (word == 0) {
            VarHandle.fullFence();
            word = poll();
            if (word == 0) {
                finish();
            }
        }
        return word;
    }

    /** The slot of the next message, if it does not go by the lane. */
    int slot() {
        return slot;
    }

    /** The payload of the message in this slot, if it is a single primitive value. */
    long number(int slot) {
        return segment.words[Segment.at(slot) + 1];
    }

    /** The payload of the message in this slot, which has this word, if it is an object, once. */
    Object payload(int slot, long word) {
        if ((word & Pipe.OBJECT) == 0) {
            return null;
        }
        Object payload = segment.take(slot);
        return (word & Pipe.CARGO) != 0 ? ((Cargo) payload).payload : payload;
    }

    /** Goes on behind the message with this word, and ends the use by which it was taken. */
    void pass(long word, long turn) {
        boolean tells = false;
        sequence++;
        if ((word & (Pipe.TURN | Pipe.END)) == 0) {
            step();
            calm++;
            if (promise == Eagerness.WITHDRAWN && (word & Pipe.EAGER) == 0) {
                promise = Eagerness.NONE;
            }
            int progress = (int) sequence & (Pipe.PROGRESS - 1);
            if (pipe.unbounded && progress == 0) {
                pipe.consumed = sequence;
                tells = true;
            }
            if (promise != Eagerness.WITHDRAWN && isOwned()) {
                open(turn + 1, Pipe.PROGRESS - 1 - progress, mark ^ Pipe.CLIENT);
            }
        } else {
            if (promise == Eagerness.WITHDRAWN) {
                promise = Eagerness.NONE;
            }
            turn((int) word & (Pipe.TURN | Pipe.END));
        }
        release(turn + 1);
        if (tells) {
            // Others may go on in this very thread, which is not for the middle of a use.
            Waiter.wake(there.room);
        }
    }

    /** Promises the sender that there will be no need of fences, if that is worth while. */
    void promise() {
        if (calm >= Eagerness.CALM) {
            calm = 0;
            if (sign.waiter == null && !speaks && !Patience.isVirtual()) {
                promise = Eagerness.PROMISED;
                sign.waiter = Waiter.EAGER;
            }
        }
    }

    // ---- leaving

    private void finish() {
        watch = null;
    }

    /** Ends a session that is over from its start. */
    void close() {
        finish();
    }

    /**
     * Leaves the session, if the seat is still the one of this watch: the endpoints in what the peer sent leave theirs, what it will
     * send is refused, and it reads what was sent to it up to here. The number and depth of unread messages cost heap, not stack.
     */
    void leave(Side.Watch by) {
        ArrayDeque<Side> unread = new ArrayDeque<>(0);
        leave(by, unread);
        for (Side side = unread.poll(); side != null; side = unread.poll()) {
            side.leave(unread);
        }
    }

    /** As {@link #leave}, and collects the sides in unread messages. */
    void leave(Side.Watch by, ArrayDeque<Side> unread) {
        if (by == null || !move(by, null)) {
            return;
        }
        sign.left = true;
        VarHandle.fullFence();
        sweep(unread);
        Waiter.wake(there.waiter);
        Waiter.wake(there.room);
        Waiter.wake(sign.waiter);
        Waiter.wake(sign.room);
    }

    /** Takes the messages with endpoints that this side has not read. The ring may be in use meanwhile. */
    private void sweep(ArrayDeque<Side> unread) {
        for (Segment each = pipe.first; each != null; each = each.next) {
            for (int i = 0; i < each.slots(); i++) {
                long word = (long) Pipe.WORD.getAcquire(each.words, Segment.at(i));
                boolean isCargo = (word & Pipe.CARGO) != 0 && (word & Pipe.CLIENT) != mark;
                if (isCargo && takeCargo(each.words, Segment.at(i), word)) {
                    Cargo cargo = (Cargo) each.payloads[i];
                    each.payloads[i] = null;
                    for (Handle endpoint : cargo.endpoints) {
                        unread.add(endpoint.$side);
                    }
                }
            }
        }
    }
}
