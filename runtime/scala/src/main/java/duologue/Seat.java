package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;

/**
 * One side's place in its session: how far it is. Only the thread that has claimed it touches it, but for {@link #watch} and
 * {@link #sign}. A seat never refers to its {@link Side}, so that the side can become unreachable.
 */
final class Seat extends Course {
    private static final VarHandle WATCH;

    static {
        try {
            WATCH = MethodHandles.lookup().findVarHandle(Seat.class, "watch", Watch.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    final Sign sign = new Sign();
    private Seat peer;
    private Sign there;
    /**
     * The watch over the side that has this seat; null once the session is over here, or LEFT. Kept alive by it for as long as the peer lives.
     * Who takes it away by a CAS leaves the session, or moves the seat to another side.
     */
    private volatile Watch watch;

    /** What is promised to the sender, as {@link Eagerness} says. */
    private byte promise;
    private volatile boolean broken;
    private Patience patience;

    Seat(Side side, Pipe pipe, boolean isClient, boolean speaks) {
        super(side, pipe, isClient, speaks);
        // A fence, which a volatile store has, would be of no use to anybody yet.
        WATCH.set(this, (Watch) this);
    }

    /** Makes two seats the two of a session. */
    static void join(Seat one, Seat two) {
        one.peer = two;
        one.there = two.sign;
        two.peer = one;
        two.there = one.sign;
    }

    @Override
    Seat seat() {
        return this;
    }

    /** Whether this side has been left. */
    boolean isLeft() {
        // In this order: whoever finds an endpoint used because its side is being left also finds that.
        return watch == Watch.LEFT || sign.left;
    }

    /** Names who is to be woken when there is room. */
    void expectRoom(Waiter waiter) {
        sign.room = waiter;
    }

    // ---- who may act

    /** Begins a use by an endpoint of the side with this watch, as {@link Claims#begin}. */
    boolean begin(Watch watch, long turn, boolean owned) {
        if (this.watch != watch || !begin(turn, owned)) {
            return false;
        }
        if (isOpen()) {
            settle(turn);
        }
        return true;
    }

    /** As {@link #begin}, for a use that others may come in between. */
    boolean claim(Watch watch, long turn) {
        boolean owned = isMine();
        return begin(watch, turn, owned) && occupy(owned);
    }

    /** As {@link Claims#hold}. False, and the session is broken off, if another use has come into the owner's. */
    boolean occupy(boolean owned) {
        return hold(owned) || isLeft() || breakOff();
    }

    /**
     * Ends a use, an owner's or not: the endpoint of this turn is live. False, and the session is broken off, if another use has come into the
     * owner's. Whoever leaves the side from elsewhere takes it from its owner, too, which is no such case.
     */
    boolean end(long turn, boolean owned) {
        release(turn);
        return !owned || isMine() || isLeft() || breakOff();
    }

    /** Gives the seat from one watch to another; false if it no longer had the first. */
    boolean move(Watch from, Watch to) {
        return WATCH.compareAndSet(this, from, to);
    }

    boolean isWatchedBy(Watch watch) {
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
        return credit > 0 || gainsRoom() || there.left;
    }

    /**
     * Sends a number, after which this side speaks again, by the lane. False if that cannot be, because there is no room, a side
     * has left, or the lane is for messages with fences where there need not be any, or the reverse: nothing was done. False also if another use
     * has come into this one: then no endpoint of this side can be used any more.
     */
    boolean pushNumber(long turn, int index, long number) {
        boolean isEager = isEager();
        if (!flows(turn, isEager)) {
            return false;
        }
        storeNumber(turn, index, number);
        return pushed(turn, isEager);
    }

    /** As {@link #pushNumber}, an object. */
    boolean pushObject(long turn, int index, Object payload) {
        boolean isEager = isEager();
        if (!flows(turn, isEager)) {
            return false;
        }
        storeObject(turn, index, payload);
        return pushed(turn, isEager);
    }

    private boolean flows(long turn, boolean isEager) {
        return leads(turn) && !there.left && (there.waiter == Waiter.EAGER) == isEager;
    }

    /**
     * Whether the lane may be opened. Who goes by it does not look at the watch: whoever takes the seat away also {@link #vacate}s it, and
     * without an owner no lane leads anywhere. If the calling thread became the owner after that, it finds here that the watch is another.
     */
    private boolean mayOpen() {
        return isOwned() && watch != Watch.LEFT;
    }

    /** Ends the use by which a message was stored in the lane. The fence and the look at the waiter are those of {@link #send}. */
    private boolean pushed(long turn, boolean isEager) {
        if (isEager) {
            return end(turn + 1, true);
        }
        VarHandle.fullFence();
        boolean isKept = end(turn + 1, true);
        wakePeer();
        return isKept;
    }

    /**
     * Sends; needs room. False if a side has left: then the payload was not sent and the session is over for this side.
     * The caller ends its use and then calls {@link #wakePeer}.
     *
     * <p>What is rare is in methods of its own, here and where messages are received: compilers inline what is short.
     */
    boolean send(long turn, int index, Object payload, long number, int then) {
        if (there.left) {
            finish();
            return false;
        }
        if (!speaks || credit == 0) {
            throw outOfTurn("send");
        }
        long word = ++sequence << Pipe.NUMBER | (long) index << Pipe.INDEX | then | mark(isClient);
        if (payload != null) {
            segment.put(slot, payload);
            word |= Pipe.OBJECT;
            if (payload instanceof Cargo) {
                return sendCargo(word | Pipe.CARGO, then);
            }
        } else {
            segment.words[Segment.at(slot) + 1] = number;
        }
        if (then == Pipe.STAY) {
            publishInRun(turn, word);
        } else {
            publish(word);
            turn(then);
        }
        return true;
    }

    private void publishInRun(long turn, long word) {
        growAtEnd();
        boolean isEager = there.waiter == Waiter.EAGER;
        if (isEager) {
            Pipe.WORD.setRelease(segment.words, Segment.at(slot), word | Pipe.EAGER);
        } else {
            publish(word);
        }
        credit--;
        step();
        if (mayOpen()) {
            open(turn + 1, credit, (sequence + 1 << Pipe.NUMBER) + (isEager ? Pipe.EAGER : 0) + mark(isClient));
        }
    }

    private boolean sendCargo(long word, int then) {
        if (then == Pipe.STAY) {
            growAtEnd();
        }
        publish(word);
        if ((there.left || isLeft()) && Pipe.WORD.compareAndSet(segment.words, Segment.at(slot), word, 0L)) {
            finish();
            return false;
        }
        if (then == Pipe.STAY) {
            credit--;
            step();
        } else {
            turn(then);
        }
        return true;
    }

    /** Wakes the peer, if it waits. Others may go on in this very thread. */
    void wakePeer() {
        Waiter.wake(there.waiter);
    }

    private void turn(int then) {
        if (then == Pipe.TURN) {
            turnAround();
        } else {
            finish();
        }
    }

    // ---- waiting

    /** Whether this side's next operation will not wait: the message, or the news that a side has left, or room is there. */
    boolean isReady() {
        return (speaks ? hasRoom() : arrived()) || isLeft();
    }

    /** Whether the next message, or the news that the peer has left, is there. */
    boolean arrived() {
        try {
            return hasMessage() || there.left;
        } catch (RuntimeException torn) {
            // Another use has come into this one: see Claims.
            breakOff();
            return true;
        }
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

    /** The word of the message that has {@link #arrived}; 0 if it is the news that the peer has left, and then the session is over. */
    long take() {
        if (speaks) {
            throw outOfTurn("receive");
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

    /** Goes on after the message with this word, and {@link #end}s the use by which it was taken. */
    boolean pass(long word, long turn) {
        sequence++;
        if ((word & (Pipe.TURN | Pipe.END)) == 0) {
            return passInRun(word, turn);
        }
        if (promise == Eagerness.WITHDRAWN) {
            promise = Eagerness.NONE;
        }
        turn((int) word & (Pipe.TURN | Pipe.END));
        return end(turn + 1, (word & Pipe.OWNED) != 0);
    }

    private boolean passInRun(long word, long turn) {
        step();
        calm++;
        if (promise == Eagerness.WITHDRAWN && (word & Pipe.EAGER) == 0) {
            promise = Eagerness.NONE;
        }
        int progress = (int) sequence & (Pipe.PROGRESS - 1);
        boolean tells = pipe.unbounded && progress == 0;
        if (tells) {
            pipe.consumed = sequence;
        }
        if (promise != Eagerness.WITHDRAWN && mayOpen()) {
            open(turn + 1, Pipe.PROGRESS - 1 - progress, (sequence + 1 << Pipe.NUMBER) + mark(!isClient));
        }
        boolean isKept = end(turn + 1, (word & Pipe.OWNED) != 0);
        if (tells) {
            // Others may go on in this very thread, which is not for the middle of a use.
            Waiter.wake(there.room);
        }
        return isKept;
    }

    /** Promises the sender that there will be no need of fences, if that is worth while. */
    void promise() {
        if (calm >= Eagerness.CALM) {
            calm = 0;
            promiseIfFree();
        }
    }

    private void promiseIfFree() {
        if (sign.waiter == null && !speaks && !Patience.isVirtual() && sign.promise()) {
            promise = Eagerness.PROMISED;
        }
    }

    // ---- leaving

    private void finish() {
        // Without a fence: who leaves in the same moment finds an old watch, as if it had been a moment earlier.
        WATCH.setRelease(this, (Watch) null);
    }

    /** Ends a session that is over from its start. */
    void close() {
        finish();
    }

    /**
     * Leaves the session, if the seat is still the one of this watch: the endpoints in what the peer sent leave theirs, what it will
     * send is refused, and it reads what was sent to it up to here. The number and depth of unread messages cost heap, not stack.
     */
    void leave(Watch by) {
        ArrayDeque<Side> unread = new ArrayDeque<>(0);
        leave(by, unread);
        leaveAll(unread);
    }

    private static void leaveAll(ArrayDeque<Side> unread) {
        for (Side side = unread.poll(); side != null; side = unread.poll()) {
            side.leave(unread);
        }
    }

    /**
     * Leaves the session, whoever has the seat: two uses have met, and nobody knows how far this side is. False, for those that end a use
     * by it.
     */
    boolean breakOff() {
        watch = Watch.LEFT;
        broken = true;
        ArrayDeque<Side> unread = new ArrayDeque<>(0);
        depart(unread);
        leaveAll(unread);
        return false;
    }

    /** Whether it was {@link #breakOff} that left the session. */
    boolean isBroken() {
        return broken;
    }

    /** As {@link #leave}, and collects the sides in unread messages. */
    void leave(Watch by, ArrayDeque<Side> unread) {
        if (by != null && move(by, Watch.LEFT)) {
            depart(unread);
        }
    }

    private void depart(ArrayDeque<Side> unread) {
        vacate();
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
                boolean isCargo = (word & Pipe.CARGO) != 0 && (word & Pipe.CLIENT) == mark(!isClient);
                // The payload is another one only if two uses of the peer's have met.
                if (isCargo && takeCargo(each.words, Segment.at(i), word) && each.payload(i) instanceof Cargo cargo) {
                    each.payloads[i] = null;
                    for (Handle endpoint : cargo.endpoints) {
                        unread.add(endpoint.$side);
                    }
                }
            }
        }
    }
}
