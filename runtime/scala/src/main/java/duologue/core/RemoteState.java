package duologue;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The state of a side whose peer is in another process, and all that its session needs, without a thread. For transports; programs
 * do not need it.
 *
 * <p>Messages of the near side are encoded while the near side sends them, in its thread, and do not enter the ring: so a message
 * that cannot be sent is an error of the sender. Messages of the peer are decoded and sent through the ring by the thread that
 * finds them: a thread that waits for them, or the transport's thread for waits without a thread. So what has arrived is checked
 * before it is received, and a wait works as in any session.
 *
 * <p>The far side counts as abandoned from the beginning ({@link SharedFlags#left}). So the near side's operations take their
 * rare paths, which this class overrides, and sessions within a process have no extra cost.
 *
 * <p>All fields of this class that are not final or volatile are accessed under the lock. Waiters are woken without it, because they
 * may run the program's own code. A thread that waits in the transport sets {@link #awaiting}, executes a fence, and checks once
 * more; a thread that has delivered something executes a fence and then reads that field.
 */
public final class RemoteState extends SideState {
    /** Those whose connection is open: the program may have forgotten the session, and its peer must still be notified. */
    private static final Set<RemoteState> OPEN = ConcurrentHashMap.newKeySet();

    /** How long a connection whose session is over waits for space for what was sent before, in nanoseconds. */
    private static final long LINGER = 5_000_000_000L;

    /** How many reads are made after the time of a state has passed. */
    private static final int LATE_READS = 64;

    private final ReentrantLock lock = new ReentrantLock();
    /** The peer's state, by which what arrives gets into the ring. */
    private final SideState far;
    private final Transport transport;
    private final Outbox out;
    private final Inbox in;
    /** The position of the current state, or {@link WireState#OVER}. */
    private int state;
    /** Whether the connection is to be closed once everything is written. */
    private boolean isEnding;
    boolean isClosed;
    /** When the time of the current state has passed, as {@link Clock#now}; 0 if it has no limit, or its time has not begun. */
    volatile long due;
    /**
     * If the connection accepts nothing, and there is a limit: when, as {@link Clock#now}, the first {@link #toWrite} bytes of {@link
     * #out} have to be written. Otherwise 0.
     */
    volatile long writtenBy;
    private int toWrite;
    /**
     * How long the near side waits for a message, and for the peer to read, in states that have no limit of their own, in
     * nanoseconds; 0 if that is not limited.
     */
    private long idle;
    /** Whether the transport calls {@link #shrink}. */
    private boolean willShrink;
    /** Whether the transport calls {@link #beat}. */
    private boolean isTimed;
    /** When to give up a connection whose session is over, as {@link Clock#now}; 0 while the session lasts. */
    volatile long endsAt;
    /** Null if there are no heartbeats. */
    private Heartbeat heartbeat;
    /** Null if nobody observes the session. */
    private final SessionEvents events;
    private boolean isReported;
    /** Why nothing more will arrive from the connection; null while something may arrive. */
    private Reason found;
    /** The same, once everything that arrived before is delivered. */
    volatile Reason why;
    /** What a peer has done that broke the session, or the failure of the connection; null if there is nothing to add. */
    volatile String detail;
    private volatile Thread awaiting;
    /** Whether so much waits to be written that the near side has to wait. */
    private volatile boolean isFull;

    /**
     * The state of a new session over a connection whose handshake is over. {@code largest} and {@code memory} limit the payloads
     * that are received, {@code peersLargest} those that are sent, and {@code isAccepting} says which side has accepted the
     * connection. {@code events} is null if nobody observes the session.
     */
    public RemoteState(
            WireProtocol protocol, boolean isClient, Transport transport, long largest, long memory, long peersLargest,
            boolean isAccepting, SessionEvents events) {
        super(null, new Pipe(protocol.name(), protocol.capacity, protocol.states), isClient, isClient == protocol.isClientFirst());
        this.transport = transport;
        this.events = events;
        this.out = new Outbox(peersLargest);
        this.in = new Inbox(largest, memory, isAccepting);
        this.far = new SideState(null, pipe, !isClient, !speaks);
        join(this, far);
        far.flags.left = true;
        if (events != null) {
            SessionNumber.give(pipe, events.number());
        }
        OPEN.add(this);
    }

    /**
     * Limits how long the near side waits for a message, and for the peer to read, in states that have no limit of their own, in
     * nanoseconds. Called before the session begins.
     */
    public RemoteState idle(long nanos) {
        idle = nanos;
        return this;
    }

    /** Sets after how many seconds this side and the peer write a heartbeat; 0 means never. Called before the session begins. */
    public RemoteState heartbeats(int own, int peers) {
        if (own > 0 || peers > 0) {
            heartbeat = new Heartbeat(own, peers);
        }
        return this;
    }

    /** Begins the session, once, and returns its near side. */
    Side start() {
        lock.lock();
        try {
            begin();
            if (heartbeat != null) {
                watchTime();
            }
        } finally {
            lock.unlock();
        }
        return Side.first(this);
    }

    // ---- called by the near side

    @Override
    boolean send(long turn, int index, Object payload, long number, int then) {
        boolean isTold = false;
        lock.lock();
        try {
            if (why != null || flags.left) {
                return finish();
            }
            if (!speaks) {
                throw outOfTurn("send");
            }
            boolean wasEmpty = out.isEmpty();
            int before = out.size();
            out.add(pipe.states[state], index, payload, number);
            notes(pipe.states[state], index, true, out.size() - before, then != Pipe.STAY);
            state = pipe.states[state].next(index);
            endTime();
            sequence++;
            far.sequence++;
            if (then == Pipe.STAY) {
                if (out.isFull()) {
                    isTold = exchange();
                } else if (wasEmpty) {
                    transport.collect();
                }
                limit();
            } else if (then == Pipe.TURN) {
                turnAround();
                far.turnAround();
                flushed();
            } else {
                isEnding = true;
                flushed();
                linger();
                ends(out.isLost() ? Reason.LOST : Reason.LEFT, null);
                finish();
            }
        } finally {
            unlock(isTold);
        }
        return true;
    }

    /** Called after each message of the near side, and when it is abandoned. */
    @Override
    void wakePeer() {
        if (isLeft()) {
            end(Reason.LEFT);
        }
    }

    /** Makes the near side ask for space exactly if too much is waiting to be written. */
    private void limit() {
        boolean isFull = pipe.unbounded && out.isFull() && why == null;
        // Volatile stores take longer than all the rest, so there are none for most messages.
        if (isFull != this.isFull) {
            this.isFull = isFull;
        }
    }

    /** Whether there is space again for a waiting near side. Called by a thread that has written, before it releases the lock. */
    private boolean eases() {
        if (!isFull || out.isFull() && why == null) {
            return false;
        }
        isFull = false;
        return true;
    }

    /**
     * If another thread has the lock, it is writing at the moment, and this method returns what was true before. A waiter that
     * was registered before that is woken: the other thread clears {@link #isFull} and reads the waiter afterwards, or something
     * is left to write, and then {@link #flushed} has armed the transport.
     */
    @Override
    boolean hasSpace() {
        if (isFull && why == null && lock.tryLock()) {
            boolean isTold = false;
            try {
                isTold = exchange();
                limit();
            } finally {
                unlock(isTold);
            }
        }
        return !isFull || why != null;
    }

    @Override
    boolean hasArrived() {
        if (why == null) {
            pump(true);
        }
        return isDelivered();
    }

    /** Like {@link #isReady}, without asking the connection. */
    private boolean isDelivered() {
        return why != null || isLeft() || (speaks ? !isFull : hasMessage());
    }

    /** The near side has received so much of an unbounded run that more can be delivered. */
    @Override
    void wakeSender() {
        pump(false);
    }

    /** Waits in the transport, if the calling thread may. */
    @Override
    Outcome await(long nanos, long deadline) {
        if (YieldPolicy.isVirtual()) {
            return isReady() ? Outcome.READY : null;
        }
        awaiting = Thread.currentThread();
        try {
            boolean reads = false;
            for (;;) {
                lock.lock();
                pumpLocked(reads);
                VarHandle.fullFence();
                if (isDelivered()) {
                    return Outcome.READY;
                }
                if (Thread.interrupted()) {
                    return Outcome.INTERRUPTED;
                }
                long left = nanos < 0 ? Long.MAX_VALUE : deadline - System.nanoTime();
                if (left <= 0 && reads) {
                    return Outcome.TIMEOUT;
                }
                if (left > 0 && !transport.await(!isFlushed(), speaks ? left : Math.min(left, untilDue()))) {
                    return null;
                }
                reads = true;
            }
        } catch (IOException failed) {
            lose(failed.getMessage());
            return Outcome.READY;
        } finally {
            awaiting = null;
        }
    }

    @Override
    boolean arm() {
        boolean isNews;
        boolean forSpace;
        lock.lock();
        try {
            flushed();
            isNews = deliver() | eases();
            forSpace = !out.isEmpty();
        } finally {
            lock.unlock();
        }
        if (!isNews) {
            arm(forSpace);
        }
        report();
        return isNews;
    }

    // ---- called by the transport

    /** Called when the connection is ready, as {@link Transport#arm} has requested. */
    public void ready() {
        pump(true);
        boolean forSpace = !isFlushed();
        // Something else may have arrived than what the near side waits for.
        if (forSpace || flags.isAwaited() && !isDelivered()) {
            arm(forSpace);
        }
    }

    /** Writes what has been collected; if there is nothing and {@code isBeat} is set, writes a heartbeat. */
    public void flush(boolean isBeat) {
        boolean isTold = false;
        lock.lock();
        try {
            if (isBeat && out.isEmpty() && !isEnding && !isClosed) {
                out.control(1);
            }
            if (!flushed()) {
                isTold = exchange(false);
            }
            isTold |= eases();
        } finally {
            unlock(isTold);
        }
    }

    /**
     * Ends the session if a time limit has passed or the peer is silent, gives the connection up if it cannot be written after the
     * end of the session, and writes a heartbeat if it is time. Never waits.
     */
    public void beat() {
        expire();
        if (isPast(endsAt)) {
            lose("the peer does not read");
        }
        if (heartbeat != null && heartbeat.isDue()) {
            flush(true);
        }
        if (heartbeat != null && heartbeat.isPeerLost(this::ready)) {
            lose(heartbeat.detail());
        }
    }

    /** Ends the session if the peer is late, or if it has said that this side is. */
    private void expire() {
        // A thread that has the lock is reading or writing, and the transport calls again.
        if ((due != 0 || writtenBy != 0) && lock.tryLock()) {
            boolean isTold = false;
            try {
                isTold = overdue();
            } finally {
                unlock(isTold);
            }
        }
    }

    /** Releases the memory of buffers that have grown and are empty. Never waits. Returns whether to call it again. */
    public boolean shrink() {
        if (!lock.tryLock()) {
            return true;
        }
        try {
            if (!isClosed) {
                in.shrink();
                out.shrink();
            }
            willShrink = !isClosed && isLarge();
            return willShrink;
        } finally {
            lock.unlock();
        }
    }

    /** Whether everything that was sent is written, or never will be. */
    public boolean isFlushed() {
        lock.lock();
        try {
            return isClosed || out.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the session as lost; if it is over, closes the connection. */
    private void lose(String failure) {
        lock.lock();
        try {
            find(Reason.LOST, failure);
            settle();
            if (isEnding) {
                close();
            }
        } finally {
            unlock(true);
        }
    }

    /**
     * Ends the session, for a program that no longer serves it: the near side finds that it is lost, after what has been delivered
     * before, and the peer that this side has left. Does nothing if the session is over. Never waits.
     */
    public void end() {
        end(Reason.LOST);
    }

    private void end(Reason reason) {
        lock.lock();
        try {
            if (!isClosed && !isEnding) {
                if (found == null && state != WireState.OVER) {
                    out.control(3, 0);
                }
                isEnding = true;
                find(reason, null);
                why = found;
                ends(why, current());
                flushed();
                linger();
            }
        } finally {
            unlock(true);
        }
    }

    // ---- the connection

    /**
     * Writes, reads if {@code reads}, decodes and delivers. Does nothing if another thread has the lock. Then {@link #arm} or {@link
     * #await} follows, which wait for the lock, or the near side will ask again.
     */
    void pump(boolean reads) {
        if (lock.tryLock()) {
            pumpLocked(reads);
        }
    }

    /** Like {@link #pump}, by a thread that has the lock. Releases it. */
    private void pumpLocked(boolean reads) {
        boolean isTold = false;
        try {
            if (reads) {
                isTold = exchange();
                isTold |= overdue();
            } else {
                flushed();
                isTold = deliver();
            }
            isTold |= eases();
        } finally {
            unlock(isTold);
        }
    }

    // ---- under the lock, except for `unlock`, which releases it, `untilDue`, `tell` and `report`

    /** Writes pending output, and reads and delivers available input. Returns whether the near side has to be woken. */
    private boolean exchange() {
        return exchange(flushed());
    }

    /** The same after pending output was written or, unless {@code hasFlushed} is set, writing has failed. */
    private boolean exchange(boolean hasFlushed) {
        boolean isNews = deliver();
        int reads = 0;
        try {
            while (found == null && !isClosed && !isEnding && !isStalled() && read()) {
                isNews |= deliver();
                reads++;
                // A peer that keeps sending without completing a message is late, too.
                if (isNews || reads >= LATE_READS && isPast()) {
                    break;
                }
            }
        } catch (IOException failed) {
            find(state == WireState.OVER ? Reason.LEFT : Reason.LOST, failed.getMessage());
            isNews = true;
        }
        if (!hasFlushed && !isEnding && !far.speaks) {
            // The peer has not said why, and no message of it is to come.
            find(Reason.LOST, null);
        }
        return settle() || isNews;
    }

    private boolean read() throws IOException {
        boolean isNews = in.read(transport);
        if (heartbeat != null) {
            heartbeat.read(isNews);
        }
        return isNews;
    }

    /** Writes pending output. Returns false if that has failed. */
    private boolean flushed() {
        if (isClosed) {
            return true;
        }
        boolean hasFailed = false;
        try {
            if (!out.isEmpty()) {
                int before = out.waiting();
                boolean isWritten = out.write(transport);
                int written = before - out.waiting();
                timeWriting(written);
                if (written > 0 && heartbeat != null) {
                    heartbeat.wrote();
                }
                if (written > 0 && endsAt != 0) {
                    endsAt = Clock.now() + LINGER;
                }
                if (!isWritten) {
                    arm(true);
                }
            }
        } catch (IOException failed) {
            // The peer may have sent the reason before it closed the connection: reading finds it.
            out.lose();
            hasFailed = true;
            if (!isEnding) {
                arm(false);
            }
        }
        if (isEnding && out.isEmpty()) {
            close();
        }
        begin();
        return !hasFailed;
    }

    /** Makes the transport watch. A session that is over reads nothing more, so what arrives must not make the connection ready. */
    private void arm(boolean forSpace) {
        transport.arm(!forSpace || !isEnding, forSpace);
    }

    /** From now on the transport calls {@link #beat}. */
    private void watchTime() {
        if (!isTimed) {
            isTimed = true;
            transport.watchTime();
        }
    }

    /** Begins the time of the current state, if it has a limit and everything that was sent before is written. */
    private void begin() {
        if (due != 0 || state == WireState.OVER || !out.isEmpty() || isClosed) {
            return;
        }
        due = deadline(far.speaks ? idle : 0);
    }

    /** Begins the time of what the connection does not accept, or ends it once as much was written. This many bytes were. */
    private void timeWriting(int count) {
        toWrite -= Math.min(count, toWrite);
        if (toWrite == 0 && writtenBy != 0) {
            writtenBy = 0;
        }
        if (writtenBy == 0 && state != WireState.OVER && !out.isEmpty()) {
            toWrite = out.waiting();
            writtenBy = deadline(idle);
        }
    }

    /** When a limit that begins now has passed: that of the current state or, if it has none, this one. 0 means that there is none. */
    private long deadline(long otherwise) {
        long within = pipe.states[state].within() * 1_000_000L;
        if (within == 0) {
            within = otherwise;
        }
        if (within == 0) {
            return 0;
        }
        watchTime();
        long end = Clock.now() + within;
        return end == 0 ? 1 : end;
    }

    /** The state whose time has begun is over. */
    private void endTime() {
        if (due != 0) {
            due = 0;
        }
    }

    /** Whether the time of the current state or that for writing has passed. */
    private boolean isPast() {
        return isPast(due) || isPast(writtenBy);
    }

    private static boolean isPast(long end) {
        return end != 0 && Clock.now() - end >= 0;
    }

    /** How many nanoseconds are left until the time of the current state has passed, if it has begun. Needs no lock. */
    private long untilDue() {
        long end = due;
        return end == 0 ? Long.MAX_VALUE : Math.max(1, end - Clock.now());
    }

    /**
     * Ends the session if the peer is late. What has arrived is read first: this thread may itself be late. The near side may be the
     * one that is late; then this finds what the peer says. Returns whether there is something for the near side.
     */
    private boolean overdue() {
        if (!isPast() || found != null || isClosed || isEnding) {
            return false;
        }
        if (isStalled()) {
            // The near side has to receive first.
            due = 0;
            writtenBy = 0;
            begin();
            return false;
        }
        if (exchange()) {
            return true;
        }
        if (!(far.speaks ? isPast() : isPast(writtenBy))) {
            return false;
        }
        find(Reason.LATE, null);
        out.control(3, 2);
        flushed();
        return settle();
    }

    /** Something of a session that is over may be left to write. */
    private void linger() {
        if (!isClosed) {
            endsAt = Clock.now() + LINGER;
            watchTime();
        }
    }

    /** Whether the near side has to receive messages of an unbounded run before more can be delivered. */
    private boolean isStalled() {
        return far.speaks && state != WireState.OVER && far.credit == 0 && !far.gainsRoom();
    }

    /** Delivers what has been read. Returns whether there is something for the near side. */
    private boolean deliver() {
        boolean isNews = false;
        try {
            while (why == null && !isClosed && !isLeft() && !isStalled()) {
                boolean isPeers = far.speaks && state != WireState.OVER;
                int found = in.next(isPeers ? pipe.states[state] : null);
                if (found == Inbox.NOTHING) {
                    break;
                }
                if (found >= 0) {
                    message(found);
                    isNews = true;
                } else if (found <= Inbox.LEAVE) {
                    isNews = true;
                    in.clear();
                    find(Inbox.LEAVE - found);
                }
            }
        } catch (RuntimeException malformed) {
            // Other exceptions than MalformedPayload would mean that a value was refused by its own class.
            in.clear();
            if (state != WireState.OVER) {
                shun(malformed);
            }
            isNews = true;
        }
        in.trim();
        return settle() || isNews;
    }

    private void message(int index) {
        WireState current = pipe.states[state];
        int bytes = in.frame();
        Object payload = in.take(current, index);
        int next = current.next(index);
        int then =
                next == WireState.OVER ? Pipe.END : pipe.states[next].isClients == current.isClients ? Pipe.STAY : Pipe.TURN;
        state = next;
        endTime();
        begin();
        notes(current, index, false, bytes, then != Pipe.STAY);
        if (then == Pipe.END) {
            ends(Reason.LEFT, null);
        }
        // False means that the near side is being abandoned at this moment: the thread that abandons it does the rest.
        if (far.send(0, index, payload, in.number(), then) && then == Pipe.END) {
            close();
        }
    }

    /** Notifies the peer of what is wrong with its message, and ends the session. */
    private void shun(RuntimeException malformed) {
        boolean isTooLarge = malformed instanceof MalformedPayload payload && payload.isTooLarge;
        find(isTooLarge ? Reason.TOO_LARGE : Reason.BROKEN, malformed.getMessage());
        if (!isClosed) {
            out.control(3, isTooLarge ? 3 : 1);
            flushed();
        }
    }

    /** Ends the session once everything is decoded. Returns whether it has just ended. */
    private boolean settle() {
        if (found == null || why != null || isStalled() && in.isCut()) {
            return false;
        }
        why = found;
        ends(why, current());
        if (out.isEmpty() || why == Reason.LEFT || why == Reason.LOST) {
            close();
        } else {
            // The peer has to find the reason after what was sent before.
            isEnding = true;
            linger();
        }
        return true;
    }

    /** Releases the lock, and wakes what waits on the near side if there is something for it. */
    private void unlock(boolean isTold) {
        boolean shrinks = !willShrink && !isClosed && isLarge();
        willShrink |= shrinks;
        lock.unlock();
        if (shrinks) {
            transport.shrinkLater();
        }
        if (isTold) {
            tell();
        }
        report();
    }

    /** Whether the buffers are larger than an idle session needs. */
    private boolean isLarge() {
        return in.isLarge() || out.isLarge();
    }

    private void tell() {
        VarHandle.fullFence();
        Thread thread = awaiting;
        if (thread == Thread.currentThread()) {
            // It has the side, so others wait at most for space, and are woken once it has sent its message.
            return;
        }
        if (thread != null) {
            transport.wake();
        }
        Waiter.wake(flags.waiter);
        Waiter.wake(flags.spaceWaiter);
    }

    /** Closes the connection. What has arrived is read before, or some systems would discard what was written. */
    private void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        OPEN.remove(this);
        in.drain(transport);
        transport.close();
    }

    // ---- why the session is over

    /** A message was sent, or has arrived. */
    private void notes(WireState state, int index, boolean isSent, long bytes, boolean isTurn) {
        if (events != null) {
            events.message(state, index, isSent, bytes, isTurn);
        }
    }

    /** The session has ended for the near side, in this state unless it is null. Only the first call counts. */
    private void ends(Reason reason, WireState state) {
        if (events != null && !isReported) {
            isReported = true;
            events.ended(reason.ordinal(), detail, state);
        }
    }

    /** The state in which the session ends early; null after the protocol's last message. */
    private WireState current() {
        return state == WireState.OVER ? null : pipe.states[state];
    }

    /** Lets the observer be called. Needs no lock: the caller has none. */
    private void report() {
        if (events != null) {
            events.report();
        }
    }

    /** The peer has said that it ends the session, for a reason with this number. */
    private void find(int number) {
        switch (number) {
            case 1 -> find(Reason.BROKEN, "the peer reports that this side broke the format");
            case 2 -> find(Reason.LATE, null);
            case 3 -> find(Reason.TOO_LARGE, null);
            default -> find(Reason.LEFT, null);
        }
    }

    /** Records a reason. Only the first one counts. */
    private void find(Reason reason, String detail) {
        if (found == null) {
            found = reason;
            if (detail != null) {
                this.detail = detail;
            }
        }
    }
}
