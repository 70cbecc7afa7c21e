package duologue;

import java.io.IOException;
import java.lang.invoke.VarHandle;

/**
 * The far end of a session whose peer is in another process: it holds the other side of an ordinary session, without a thread of
 * its own. For transports; programs do not need it.
 *
 * <p>Messages of the near side are encoded while the near side sends them, in its thread, and do not enter the ring: so a message
 * that cannot be sent is an error of the sender. Messages of the peer are decoded and sent through the ring by the thread that
 * finds them: a thread that waits for them, or the transport's thread for waits without a thread. So a wait on the near side
 * works as in any session.
 *
 * <p>The far side counts as abandoned from the beginning ({@link SharedFlags#left}). So the near side's operations take their
 * rare paths, which call the far end, and sessions within a process have no extra cost.
 *
 * <p>All fields that are not final or volatile are accessed under the lock. Waiters are woken without it, because they may run the
 * program's own code. A thread that waits in the transport sets {@link #awaiting}, executes a fence, and checks once more; a thread
 * that has delivered something executes a fence and then reads that field.
 */
public final class FarEnd extends FarEndLink {
    /**
     * The far end of a new session over a connection whose handshake is over. {@code largest} and {@code memory} limit the payloads
     * that are received, {@code peersLargest} those that are sent, and {@code isAccepting} says which side has accepted the
     * connection. {@code events} is null if nobody observes the session.
     */
    public FarEnd(
            WireProtocol protocol, boolean isClient, Transport transport, long largest, long memory, long peersLargest,
            boolean isAccepting, SessionEvents events) {
        super(protocol, isClient, transport, largest, memory, peersLargest, isAccepting, events);
        SharedFlags flags = far.state.flags;
        flags.left = true;
        // Woken after each message of the near side, and when it is abandoned.
        flags.waiter = new Waiter() {
            @Override
            void wake() {
                leaveIfLeft();
            }
        };
        // Woken when the near side has received so much of an unbounded run that more can be delivered.
        flags.spaceWaiter = new Waiter() {
            @Override
            void wake() {
                pump(false);
            }
        };
    }

    /**
     * Limits how long the near side waits for a message, and for the peer to read, in states that have no limit of their own, in
     * nanoseconds. Called before the session begins.
     */
    public FarEnd idle(long nanos) {
        idle = nanos;
        return this;
    }

    /** Sets after how many seconds this side and the peer write a heartbeat; 0 means never. Called before the session begins. */
    public FarEnd heartbeats(int own, int peers) {
        if (own > 0 || peers > 0) {
            heartbeat = new Heartbeat(own, peers);
        }
        return this;
    }

    /** The near side, which is returned once. */
    Side start() {
        Side side = start;
        start = null;
        lock.lock();
        try {
            begin();
            if (heartbeat.isOn()) {
                watchTime();
            }
        } finally {
            lock.unlock();
        }
        return side;
    }

    // ---- called by the near side

    @Override
    boolean send(int index, Object payload, long number, int then) {
        boolean isTold = false;
        lock.lock();
        try {
            if (ending.why != null) {
                return false;
            }
            boolean wasEmpty = out.isEmpty();
            int before = out.size();
            out.add(states[state], index, payload, number);
            ending.message(states[state], index, true, out.size() - before, then != Pipe.STAY);
            state = states[state].next(index);
            endTime();
            near.sequence++;
            far.state.sequence++;
            if (then == Pipe.STAY) {
                if (out.isFull()) {
                    isTold = exchange();
                } else if (wasEmpty) {
                    transport.collect();
                }
                limit();
            } else if (then == Pipe.TURN) {
                far.state.turnAround();
                flushed();
            } else {
                isEnding = true;
                flushed();
                linger();
                ending.end(out.isLost() ? Reason.LOST : Reason.LEFT, null);
            }
        } finally {
            unlock(isTold);
        }
        return true;
    }

    @Override
    boolean isFull() {
        return isFull;
    }

    /** Makes the near side, which has claimed itself, ask for space exactly if too much is waiting to be written. */
    private void limit() {
        if (near.pipe.unbounded) {
            boolean isFull = out.isFull() && ending.why == null;
            // Volatile stores take longer than all the rest, so there are none for most messages.
            if (isFull != this.isFull) {
                this.isFull = isFull;
            }
            near.credit = isFull ? 0 : near.pipe.slots;
            // Read only by a near side without credit.
            if (isFull) {
                near.pipe.consumed = near.sequence - near.pipe.slots;
            }
        }
    }

    /** Whether there is space again for a waiting near side. Called by a thread that has written, before it releases the lock. */
    private boolean eases() {
        if (!isFull || out.isFull() && ending.why == null) {
            return false;
        }
        isFull = false;
        return true;
    }

    /**
     * {@inheritDoc}
     *
     * <p>If another thread has the lock, it is writing at the moment, and this method returns what was true before. A waiter
     * that was registered before that is woken: the other thread clears {@link #isFull} and reads the waiter afterwards, or
     * something is left to write, and then {@link #flushed} has armed the transport.
     */
    @Override
    boolean hasSpace() {
        if (isFull && ending.why == null && lock.tryLock()) {
            boolean isTold = false;
            try {
                isTold = exchange();
                limit();
            } finally {
                unlock(isTold);
            }
        }
        return !isFull || ending.why != null;
    }

    @Override
    void poll() {
        if (ending.why == null) {
            pump(true);
        }
    }

    @Override
    boolean mayAwait() {
        return !YieldPolicy.isVirtual() && transport.mayAwait();
    }

    @Override
    Outcome await(long nanos, long deadline) {
        awaiting = Thread.currentThread();
        try {
            boolean reads = false;
            for (;;) {
                lock.lock();
                pumpLocked(reads);
                VarHandle.fullFence();
                if (near.isDelivered()) {
                    return Outcome.READY;
                }
                if (Thread.interrupted()) {
                    return Outcome.INTERRUPTED;
                }
                long left = nanos < 0 ? Long.MAX_VALUE : deadline - System.nanoTime();
                if (left <= 0 && reads) {
                    return Outcome.TIMEOUT;
                }
                if (left > 0) {
                    transport.await(!isFlushed(), near.speaks ? left : Math.min(left, untilDue()));
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
        ending.report();
        return isNews;
    }

    @Override
    WireState[] states() {
        return states;
    }

    @Override
    Reason why() {
        return ending.why;
    }

    @Override
    String detail() {
        return ending.detail;
    }

    // ---- called by the transport

    /** Called when the connection is ready, as {@link Transport#arm} has requested. */
    public void ready() {
        pump(true);
        boolean forSpace;
        lock.lock();
        try {
            if (isClosed) {
                return;
            }
            forSpace = !out.isEmpty();
        } finally {
            lock.unlock();
        }
        // Something else may have arrived than what the near side waits for.
        if (forSpace || near.flags.isAwaited() && !near.isDelivered()) {
            arm(forSpace);
        }
    }

    @Override
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
        if (isLingering()) {
            lose("the peer does not read");
        }
        if (heartbeat.isDue()) {
            flush(true);
        }
        if (heartbeat.isPeerLost(this::ready)) {
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
                shrinkBuffers();
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
            ending.find(Reason.LOST, failure);
            settle();
            if (isEnding) {
                close();
            }
        } finally {
            lock.unlock();
        }
        tell();
        ending.report();
    }

    /**
     * Ends the session, for a program that no longer serves it: the near side finds that it is lost, after what has been delivered
     * before, and the peer that this side has left. Does nothing if the session is over. Never waits.
     */
    public void end() {
        lock.lock();
        try {
            if (isClosed || isEnding) {
                return;
            }
            if (ending.found == null && state != WireState.OVER) {
                out.control(3, 0);
            }
            isEnding = true;
            ending.find(Reason.LOST, null);
            ending.why = ending.found;
            ending.end(ending.why, state == WireState.OVER ? null : states[state]);
            flushed();
            linger();
        } finally {
            lock.unlock();
        }
        tell();
        ending.report();
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

    /** The near side may have been abandoned. */
    void leaveIfLeft() {
        if (near.isLeft()) {
            leave();
        }
    }

    private void leave() {
        lock.lock();
        try {
            if (!isClosed && !isEnding) {
                if (ending.found == null && state != WireState.OVER) {
                    out.control(3, 0);
                }
                isEnding = true;
                ending.find(Reason.LEFT, null);
                ending.end(ending.found, state == WireState.OVER ? null : states[state]);
                ending.found = Reason.LEFT;
                ending.why = Reason.LEFT;
                flushed();
                linger();
            }
        } finally {
            lock.unlock();
        }
        if (awaiting != null) {
            transport.wake();
        }
        ending.report();
    }
}
