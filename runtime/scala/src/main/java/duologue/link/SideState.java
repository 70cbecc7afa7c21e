package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;

/**
 * One side's state in its session, including its position. Only the thread that has claimed it accesses it, except for
 * {@link #watch} and {@link #flags}. A side state never refers to its {@link Side}, so that the side can become unreachable.
 */
class SideState extends Cursor {
    private static final VarHandle WATCH;

    static {
        try {
            WATCH = MethodHandles.lookup().findVarHandle(SideState.class, "watch", Watch.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    final SharedFlags flags = new SharedFlags();
    private SideState peer;
    private SharedFlags there;
    /**
     * The watch over the side that holds this side state; null once the session is over for this side, or LEFT. The side state
     * keeps the watch alive for as long as the peer lives. A thread that takes the watch away by a CAS abandons the session, or
     * moves the side state to another side.
     */
    private volatile Watch watch;

    /** What has been promised to the sender; see {@link FenceElision}. */
    private byte promise;
    private volatile boolean broken;
    private SpinBudget budget;

    SideState(Object side, Pipe pipe, boolean isClient, boolean speaks) {
        super(side, pipe, isClient, speaks);
        // A plain store: the fence of a volatile store would serve no purpose yet.
        WATCH.set(this, (Watch) this);
    }

    /** Makes two side states the two of one session. */
    static void join(SideState one, SideState two) {
        one.peer = two;
        one.there = two.flags;
        two.peer = one;
        two.there = one.flags;
    }

    @Override
    public void leave() {
        leave(this);
    }

    /** Whether this side has been abandoned. */
    boolean isLeft() {
        // In this order: a thread that finds an endpoint used because its side is being abandoned also finds that it is.
        return watch == Watch.LEFT || flags.left;
    }

    // ---- claiming

    /** Begins a use by an endpoint of the side with this watch; see {@link Ownership#begin}. */
    boolean begin(Watch watch, long turn, boolean owned) {
        if (this.watch != watch || !begin(turn, owned)) {
            return false;
        }
        if (isOpen()) {
            settle(turn);
        }
        return true;
    }

    /** Like {@link #begin}, for a use during which other uses may be attempted. */
    boolean claim(Watch watch, long turn) {
        boolean owned = isMine();
        return begin(watch, turn, owned) && occupy(owned);
    }

    /** Like {@link Ownership#hold}. Returns false, and breaks the session off, if another use has overlapped the owner's. */
    boolean occupy(boolean owned) {
        return hold(owned) || isLeft() || breakOff();
    }

    /**
     * Ends a use, an owner's or not: the endpoint of this turn is live. Returns false, and breaks the session off, if another use
     * has overlapped the owner's. A thread that abandons the side from elsewhere also takes it from its owner, but that does not
     * count as such a use.
     */
    boolean end(long turn, boolean owned) {
        release(turn);
        return !owned || isMine() || isLeft() || breakOff();
    }

    /** Moves the side state from one watch to another. Returns false if its watch is not {@code from}. */
    boolean move(Watch from, Watch to) {
        return WATCH.compareAndSet(this, from, to);
    }

    boolean isWatchedBy(Watch watch) {
        return this.watch == watch;
    }

    SpinBudget budget() {
        if (budget == null) {
            budget = new SpinBudget();
        }
        return budget;
    }

    // ---- sending

    /**
     * Whether a message can be sent without waiting, or the peer has closed the session. Can be false only in an unbounded run.
     */
    boolean hasSpace() {
        return credit > 0 || gainsRoom() || there.left;
    }

    /**
     * Sends an object, or a number if that is null, through the lane, after which this side sends again. Returns false, and does
     * nothing, if that is not possible because there is no space, a side has been abandoned, or the lane is for messages with fences
     * where none are needed, or the reverse. Also returns false if another use has overlapped this one: then no endpoint of this
     * side can be used any more.
     */
    boolean push(long turn, int index, Object payload, long number) {
        boolean isEager = isEager();
        if (!flows(turn, isEager)) {
            return false;
        }
        if (payload == null) {
            storeNumber(turn, index, number);
        } else {
            storeObject(turn, index, payload);
        }
        return pushed(turn, isEager);
    }

    private boolean flows(long turn, boolean isEager) {
        return leads(turn) && !there.left && (there.waiter == Waiter.EAGER) == isEager;
    }

    /**
     * Whether the lane may be opened. A use of the lane does not check the watch: a thread that takes the side state away also
     * {@link #vacate}s it, and without an owner no lane leads anywhere. If the calling thread became the owner after that, it
     * finds here that the watch is another one.
     */
    private boolean mayOpen() {
        return isOwned() && watch != Watch.LEFT;
    }

    /** Ends the use that stored a message in the lane. The fence and the read of the waiter are those of {@link #send}. */
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
     * Sends a message; there must be space. Returns false if a side has been abandoned: then the payload was not sent and the
     * session is over for this side. The caller ends its use and then calls {@link #wakePeer}.
     *
     * <p>Rare cases are in methods of their own, here and where messages are received, because compilers inline short methods.
     */
    boolean send(long turn, int index, Object payload, long number, int then) {
        if (there.left) {
            return finish();
        }
        if (!speaks || credit == 0) {
            throw outOfTurn("send");
        }
        long word = ++sequence << Pipe.NUMBER | (long) index << Pipe.INDEX | then | Pipe.mark(isClient);
        if (payload != null) {
            segment.put(slot, payload);
            word |= Pipe.OBJECT;
            if (payload instanceof EndpointPayload) {
                return sendCargo(word | Pipe.CARGO, then);
            }
        } else {
            segment.words[Pipe.at(slot) + 1] = number;
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
            Pipe.WORD.setRelease(segment.words, Pipe.at(slot), word | Pipe.EAGER);
        } else {
            publish(word);
        }
        credit--;
        step();
        if (mayOpen()) {
            open(turn + 1, credit, (sequence + 1 << Pipe.NUMBER) + (isEager ? Pipe.EAGER : 0) + Pipe.mark(isClient));
        }
    }

    private boolean sendCargo(long word, int then) {
        if (then == Pipe.STAY) {
            growAtEnd();
        }
        publish(word);
        if ((there.left || isLeft()) && Pipe.WORD.compareAndSet(segment.words, Pipe.at(slot), word, 0L)) {
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

    /** Wakes the peer, if it waits. A callback may run in the calling thread. */
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

    @Override
    boolean isReady() {
        return (speaks ? hasSpace() : arrived()) || isLeft();
    }

    /** Whether the next message is there or the peer has closed the session. */
    boolean arrived() {
        try {
            return hasMessage() || there.left && hasArrived();
        } catch (RuntimeException torn) {
            // Another use has overlapped this one: see Ownership.
            breakOff();
            return true;
        }
    }

    /** Whether no message will come that is not in the ring yet, because the peer has closed the session. */
    boolean hasArrived() {
        return true;
    }

    /** Like {@link Side#await}; null if this side is not ready after a while, and the thread has to sleep until it is woken. */
    Outcome await(long nanos, long deadline) {
        return budget().look(this) ? Outcome.READY : null;
    }

    /**
     * Registers {@code waiter} to be woken when this side is ready. Returns false, and leaves nothing registered, if it is ready
     * already. If {@link #isUnsure}, the waiter has to check again from time to time on its own.
     */
    boolean announce(Waiter waiter) {
        if (speaks) {
            flags.spaceWaiter = waiter;
            if (!isReady() && !arm()) {
                return true;
            }
            flags.spaceWaiter = null;
            return false;
        }
        calm = 0;
        flags.waiter = waiter;
        VarHandle.fullFence();
        if (!isReady() && !arm()) {
            promise = promise == FenceElision.NONE ? FenceElision.NONE : FenceElision.WITHDRAWN;
            return true;
        }
        flags.waiter = null;
        return false;
    }

    /** Makes the connection of a session with another process watch for what this side waits for; true if it is there. */
    boolean arm() {
        return false;
    }

    /** Like {@link #announce}, for a waiter that does not check again on its own. */
    boolean announcePassive(Waiter waiter) {
        if (speaks || promise == FenceElision.NONE) {
            return announce(waiter);
        }
        FenceElision.Unsure unsure = new FenceElision.Unsure(flags, waiter);
        if (!announce(unsure)) {
            return false;
        }
        unsure.start();
        return true;
    }

    /** Whether the sender may miss the waiter. */
    boolean isUnsure() {
        return !speaks && promise != FenceElision.NONE;
    }

    /** Removes the waiter that {@link #announce} has registered. A late waker may still hold it. */
    void retract() {
        if (speaks) {
            flags.spaceWaiter = null;
        } else {
            flags.waiter = null;
        }
    }

    // ---- receiving

    /** The word of the message that has {@link #arrived}; 0 if the peer has closed the session, which is then over. */
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

    /** Advances past the message with this word, and {@link #end}s the use that took it. */
    boolean pass(long word, long turn) {
        sequence++;
        if ((word & (Pipe.TURN | Pipe.END)) == 0) {
            return passInRun(word, turn);
        }
        if (promise == FenceElision.WITHDRAWN) {
            promise = FenceElision.NONE;
        }
        turn((int) word & (Pipe.TURN | Pipe.END));
        return end(turn + 1, (word & Pipe.OWNED) != 0);
    }

    private boolean passInRun(long word, long turn) {
        step();
        calm++;
        if (promise == FenceElision.WITHDRAWN && (word & Pipe.EAGER) == 0) {
            promise = FenceElision.NONE;
        }
        int progress = (int) sequence & (Pipe.PROGRESS - 1);
        boolean tells = pipe.unbounded && progress == 0;
        if (tells) {
            pipe.consumed = sequence;
        }
        if (promise != FenceElision.WITHDRAWN && mayOpen()) {
            open(turn + 1, Pipe.PROGRESS - 1 - progress, (sequence + 1 << Pipe.NUMBER) + Pipe.mark(!isClient));
        }
        boolean isKept = end(turn + 1, (word & Pipe.OWNED) != 0);
        if (tells) {
            // A callback may run in this thread, which must not happen in the middle of a use.
            wakeSender();
        }
        return isKept;
    }

    /** Wakes the peer, if it waits for space. */
    void wakeSender() {
        Waiter.wake(there.spaceWaiter);
    }

    /** Promises the sender that fences are not needed, if that is worthwhile. */
    void promise() {
        if (calm >= FenceElision.CALM) {
            calm = 0;
            promiseIfFree();
        }
    }

    private void promiseIfFree() {
        if (flags.waiter == null && !speaks && !there.left && !YieldPolicy.isVirtual() && flags.promise()) {
            promise = FenceElision.PROMISED;
        }
    }

    // ---- abandoning

    /** The session is over for this side. Returns false. */
    boolean finish() {
        // Without a fence: a thread that abandons the side at the same moment finds an old watch, as if it had come earlier.
        WATCH.setRelease(this, (Watch) null);
        if (RecordFlag.REGISTRY) Registered.ends(this, false);
        return false;
    }

    /**
     * Abandons the session, if the side state still belongs to this watch: endpoints in unread messages from the peer abandon
     * their sessions, what the peer sends later is refused, and the peer can read what was sent to it so far. The number and
     * depth of unread messages cost heap, not stack.
     */
    void leave(Watch by) {
        if (by != null && move(by, Watch.LEFT)) {
            depart();
        }
    }

    private void depart() {
        ArrayDeque<Abandonable> unread = new ArrayDeque<>(0);
        depart(unread);
        for (Abandonable side = unread.poll(); side != null; side = unread.poll()) {
            side.leave(unread);
        }
    }

    /**
     * Abandons the session, whichever side has the side state: two uses have overlapped, and the position of this side is
     * unknown. Returns false, for the methods that end a use with this result.
     */
    boolean breakOff() {
        watch = Watch.LEFT;
        broken = true;
        depart();
        return false;
    }

    /** Whether {@link #breakOff} has abandoned the session. */
    boolean isBroken() {
        return broken;
    }

    /** Like {@link #leave(Watch)}, and adds the sides in unread messages to {@code unread}. */
    void leave(Watch by, ArrayDeque<Abandonable> unread) {
        if (by != null && move(by, Watch.LEFT)) {
            depart(unread);
        }
    }

    private void depart(ArrayDeque<Abandonable> unread) {
        vacate();
        if (RecordFlag.REGISTRY) Registered.ends(this, true);
        flags.left = true;
        VarHandle.fullFence();
        pipe.sweep(isClient, unread);
        wakePeer();
        wakeSender();
        Waiter.wake(flags.waiter);
        Waiter.wake(flags.spaceWaiter);
    }
}
