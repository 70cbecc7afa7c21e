package duologue;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The part of a {@link FarEnd} that moves messages between its side of the session and the connection. All of its methods are called
 * under the lock, except {@link #unlock}, which releases it, {@link #untilDue} and {@link #tell}.
 */
abstract class FarEndLink extends RemotePeer {
    /** Far ends whose connection is open: the program may have forgotten the session, and its peer must still be notified. */
    private static final Set<FarEndLink> OPEN = ConcurrentHashMap.newKeySet();

    /** How long a connection whose session is over waits for space for what was sent before, in nanoseconds. */
    static final long LINGER = 5_000_000_000L;

    /** How many reads are made after the time of a state has passed. */
    private static final int LATE_READS = 64;

    final ReentrantLock lock = new ReentrantLock();
    final WireState[] states;
    final SideState near;
    final Side far;
    final Transport transport;
    final Outbox out;
    private final Inbox in;
    /** The near side, until {@link FarEnd#start} returns it. The far end must not keep it from being found when it is forgotten. */
    Side start;
    /** The position of the current state, or {@link WireState#OVER}. */
    int state;
    /** Whether the connection is to be closed once everything is written. */
    boolean isEnding;
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
    long idle;
    /** Whether the transport calls {@link FarEnd#shrink}. */
    boolean willShrink;
    /** Whether the transport calls {@link FarEnd#beat}. */
    private boolean isTimed;
    /** When to give up a connection whose session is over, as {@link Clock#now}; 0 while the session lasts. */
    volatile long endsAt;
    Heartbeat heartbeat = Heartbeat.NONE;
    final Ending ending;
    volatile Thread awaiting;
    /** Whether so much waits to be written that the near side has to wait. */
    volatile boolean isFull;

    FarEndLink(
            WireProtocol protocol,
            boolean isClient,
            Transport transport,
            long largest,
            long memory,
            long peersLargest,
            boolean isAccepting,
            SessionEvents events) {
        this.states = protocol.states;
        this.transport = transport;
        this.ending = new Ending(events);
        this.out = new Outbox(peersLargest);
        this.in = new Inbox(largest, memory, isAccepting);
        Pipe pipe = new Pipe(protocol.name(), protocol.capacity, this);
        boolean isFirst = isClient == protocol.isClientFirst();
        this.start = new Side(pipe, isClient, isFirst);
        this.near = start.state;
        this.far = new Side(pipe, !isClient, !isFirst);
        SideState.join(near, far.state);
        if (events != null) {
            SessionNumber.give(pipe, events.number());
        }
        OPEN.add(this);
    }

    /** Writes pending output, and reads and delivers available input. Returns whether the near side has to be woken. */
    boolean exchange() {
        return exchange(flushed());
    }

    /** The same after pending output was written or, unless {@code hasFlushed} is set, writing has failed. */
    boolean exchange(boolean hasFlushed) {
        boolean isNews = deliver();
        int reads = 0;
        try {
            while (ending.found == null && !isClosed && !isEnding && !isStalled() && read()) {
                isNews |= deliver();
                reads++;
                // A peer that keeps sending without completing a message is late, too.
                if (isNews || reads >= LATE_READS && isPast()) {
                    break;
                }
            }
        } catch (IOException failed) {
            ending.find(state == WireState.OVER ? Reason.LEFT : Reason.LOST, failed.getMessage());
            isNews = true;
        }
        if (!hasFlushed && !isEnding && !far.state.speaks) {
            // The peer has not said why, and no message of it is to come.
            ending.find(Reason.LOST, null);
        }
        return settle() || isNews;
    }

    private boolean read() throws IOException {
        boolean isNews = in.read(transport);
        heartbeat.read(isNews);
        return isNews;
    }

    /** Writes pending output. Returns false if that has failed. */
    boolean flushed() {
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
                if (written > 0) {
                    heartbeat.wrote();
                    if (endsAt != 0) {
                        endsAt = Clock.now() + LINGER;
                    }
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
    void arm(boolean forSpace) {
        transport.arm(!forSpace || !isEnding, forSpace);
    }

    /** From now on the transport calls {@link FarEnd#beat}. */
    void watchTime() {
        if (!isTimed) {
            isTimed = true;
            transport.watchTime();
        }
    }

    /** Whether what was sent before the end of the session could not be written in time. */
    boolean isLingering() {
        return endsAt != 0 && Clock.now() - endsAt >= 0;
    }

    /** Begins the time of the current state, if it has a limit and everything that was sent before is written. */
    void begin() {
        if (due != 0 || state == WireState.OVER || !out.isEmpty() || isClosed) {
            return;
        }
        due = deadline(far.state.speaks ? idle : 0);
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
        long within = states[state].within() * 1_000_000L;
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
    void endTime() {
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
    long untilDue() {
        long end = due;
        return end == 0 ? Long.MAX_VALUE : Math.max(1, end - Clock.now());
    }

    /**
     * Ends the session if the peer is late. What has arrived is read first: this thread may itself be late. The near side may be the
     * one that is late; then this finds what the peer says. Returns whether there is something for the near side.
     */
    boolean overdue() {
        if (!isPast() || ending.found != null || isClosed || isEnding) {
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
        if (!(far.state.speaks ? isPast() : isPast(writtenBy))) {
            return false;
        }
        ending.find(Reason.LATE, null);
        out.control(3, 2);
        flushed();
        return settle();
    }

    /** Something of a session that is over may be left to write. */
    void linger() {
        if (!isClosed) {
            endsAt = Clock.now() + LINGER;
            watchTime();
        }
    }

    /** Whether the near side has to receive messages of an unbounded run before more can be delivered. */
    private boolean isStalled() {
        SideState far = this.far.state;
        return far.speaks && state != WireState.OVER && far.credit == 0 && !far.gainsRoom();
    }

    /** Delivers what has been read. Returns whether there is something for the near side. */
    boolean deliver() {
        boolean isNews = false;
        try {
            while (ending.why == null && !isClosed && !near.isLeft() && !isStalled()) {
                boolean isPeers = far.state.speaks && state != WireState.OVER;
                int found = in.next(isPeers ? states[state] : null);
                if (found == Inbox.NOTHING) {
                    break;
                }
                if (found >= 0) {
                    message(found);
                    isNews = true;
                } else if (found <= Inbox.LEAVE) {
                    isNews = true;
                    in.clear();
                    ending.leave(Inbox.LEAVE - found);
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
        WireState current = states[state];
        int bytes = in.frame();
        Object payload = in.take(current, index);
        int next = current.next(index);
        int then =
                next == WireState.OVER ? Pipe.END : states[next].isClients == current.isClients ? Pipe.STAY : Pipe.TURN;
        state = next;
        endTime();
        begin();
        ending.message(current, index, false, bytes, then != Pipe.STAY);
        if (then == Pipe.END) {
            ending.end(Reason.LEFT, null);
        }
        // False means that the near side is being abandoned at this moment: the thread that abandons it does the rest.
        if (far.state.send(0, index, payload, in.number(), then) && then == Pipe.END) {
            close();
        }
    }

    /** Notifies the peer of what is wrong with its message, and ends the session. */
    private void shun(RuntimeException malformed) {
        boolean isTooLarge = malformed instanceof MalformedPayload payload && payload.isTooLarge;
        ending.find(isTooLarge ? Reason.TOO_LARGE : Reason.BROKEN, malformed.getMessage());
        if (!isClosed) {
            out.control(3, isTooLarge ? 3 : 1);
            flushed();
        }
    }

    /** Ends the session once everything is decoded. Returns whether it has just ended. */
    boolean settle() {
        if (ending.found == null || ending.why != null || isStalled() && in.isCut()) {
            return false;
        }
        ending.why = ending.found;
        ending.end(ending.why, state == WireState.OVER ? null : states[state]);
        if (out.isEmpty() || ending.why == Reason.LEFT || ending.why == Reason.LOST) {
            close();
        } else {
            // The peer has to find the reason after what was sent before.
            isEnding = true;
            linger();
        }
        return true;
    }

    /** Releases the lock, and wakes what waits on the near side if there is something for it. */
    void unlock(boolean isTold) {
        boolean shrinks = !willShrink && !isClosed && isLarge();
        willShrink |= shrinks;
        lock.unlock();
        if (shrinks) {
            transport.shrinkLater();
        }
        if (isTold) {
            tell();
        }
        ending.report();
    }

    /** Whether the buffers are larger than an idle session needs. */
    boolean isLarge() {
        return in.isLarge() || out.isLarge();
    }

    void shrinkBuffers() {
        in.shrink();
        out.shrink();
    }

    void tell() {
        VarHandle.fullFence();
        Thread thread = awaiting;
        if (thread != null && thread != Thread.currentThread()) {
            transport.wake();
        }
        SharedFlags flags = near.flags;
        Waiter.wake(flags.waiter);
        Waiter.wake(flags.spaceWaiter);
    }

    /** Closes the connection. What has arrived is read before, or some systems would discard what was written. */
    void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        OPEN.remove(this);
        in.drain(transport);
        transport.close();
    }
}
