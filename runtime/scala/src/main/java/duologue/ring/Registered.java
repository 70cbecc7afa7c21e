package duologue;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;

/**
 * The sessions of a process with a registry that have not ended, and what their sides do. The other methods are called only where
 * {@link RecordFlag#REGISTRY} is true.
 *
 * <p>A session has an entry from its first endpoint until both sides are done with it, or until the collector has found it. The entries
 * do not keep sessions alive. A lock is held for each report, and while all entries are copied, so a copy was true at one moment.
 */
final class Registered {
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Map<Pipe, Registered> LIVE = new WeakHashMap<>();
    private static final WeakReference<Thread> NOBODY = new WeakReference<>(null);
    /** Longer names of threads are cut. */
    private static final int LONGEST_NAME = 200;
    /** The states of the protocol whose sessions have no entries. */
    private static WireState[] leftOut = {};

    /** A side of a session. */
    static final class Half implements Cloneable {
        /** Whether it is in this process. */
        final boolean isNear;
        private WeakReference<Thread> thread = NOBODY;
        /** The thread that used it last; null if it was not used yet. */
        String owner;
        /** The state of its endpoint; null after the last message. */
        String state;
        /** Whether it sends in this state. */
        boolean speaks;
        /** Whether it waits, since when, and for what. */
        boolean waits;
        long since;
        boolean forSpace;
        /** Whether no thread needs to wait for it: it is in a set, or there is a callback. */
        boolean isPassive;
        /** Whether it is about to send a message, which may be in the ring before it is counted. */
        boolean sends;
        long sent;
        long received;
        boolean hasLeft;
        boolean isDone;

        private Half(boolean isNear) {
            this.isNear = isNear;
        }

        /** How many messages the session had that this side knows of. */
        long messages() {
            return sent + received;
        }

        private void belongsTo(Thread user) {
            if (!thread.refersTo(user)) {
                thread = new WeakReference<>(user);
                owner = name(user);
            }
        }

        private void begins(boolean passive) {
            waits = true;
            since = System.nanoTime();
            forSpace = speaks;
            isPassive = passive;
            sends = false;
        }

        private Half copy() {
            try {
                return (Half) clone();
            } catch (CloneNotSupportedException impossible) {
                throw new AssertionError(impossible);
            }
        }
    }

    final long number;
    final String protocol;
    final Half client;
    final Half server;
    /** When the last message was sent, or the session began. */
    long since;

    private Registered(long number, String protocol, Half client, Half server) {
        this.number = number;
        this.protocol = protocol;
        this.client = client;
        this.server = server;
    }

    /** Sessions of this protocol have no entries. Called before there are any. */
    static void leaveOut(WireState[] states) {
        inside(() -> leftOut = states);
    }

    /** Copies of all entries, by the numbers of their sessions. */
    static List<Registered> all() {
        List<Registered> all = new ArrayList<>();
        inside(() -> {
            for (Registered one : LIVE.values()) {
                Registered copy = new Registered(one.number, one.protocol, one.client.copy(), one.server.copy());
                copy.since = one.since;
                all.add(copy);
            }
        });
        all.sort(Comparator.comparingLong(one -> one.number));
        return all;
    }

    /** An endpoint of this turn, which sends or receives, was created: its side is in its state. */
    static void reaches(Cursor own, long turn, String state, boolean speaks) {
        inside(() -> {
            if (turn == 0) {
                enter(own.pipe, own.isClient);
            }
            change(own, (entry, half) -> {
                half.state = state;
                half.speaks = speaks;
            });
        });
    }

    private static void enter(Pipe pipe, boolean isClient) {
        boolean isHere = pipe.states == null;
        if (!LIVE.containsKey(pipe) && pipe.states != leftOut) {
            Half client = new Half(isHere || isClient);
            Registered entry = new Registered(SessionNumber.of(pipe), pipe.protocol, client, new Half(isHere || !isClient));
            entry.since = System.nanoTime();
            LIVE.put(pipe, entry);
        }
    }

    /** The endpoint belongs to the thread that calls. */
    static void adopts(Cursor side) {
        change(side, (entry, half) -> half.belongsTo(Thread.currentThread()));
    }

    /** The thread that calls is about to send. */
    static void sends(Cursor side) {
        change(side, (entry, half) -> {
            half.belongsTo(Thread.currentThread());
            half.sends = true;
        });
    }

    /** What it was about to send was not sent. */
    static void takesBack(Cursor side) {
        change(side, (entry, half) -> {
            if (half.thread.refersTo(Thread.currentThread())) half.sends = false;
        });
    }

    /** A message was sent or received. The side's next state follows, unless it was the last one. */
    static void passed(Cursor side, boolean isSent, boolean isLast) {
        long now = System.nanoTime();
        change(side, (entry, half) -> {
            half.belongsTo(Thread.currentThread());
            half.waits = false;
            half.sends = false;
            if (isLast) half.state = null;
            if (isSent) half.sent++;
            else half.received++;
            if (isSent || side.pipe.states != null) entry.since = now;
        });
    }

    /** The thread that calls waits, or with {@code isPassive} the side does, and no thread needs to wait for it. */
    static void waits(Cursor side, boolean isPassive) {
        change(side, (entry, half) -> {
            half.belongsTo(Thread.currentThread());
            half.begins(isPassive);
        });
    }

    /** The wait is over; a thread that has waited for space is about to send. */
    static void goesOn(Cursor side) {
        change(side, (entry, half) -> {
            half.sends = half.waits && half.forSpace;
            half.waits = false;
        });
    }

    /** The wait is over. */
    static void stopsWaiting(Cursor side) {
        change(side, (entry, half) -> half.waits = false);
    }

    /** The session is over for the side, which may have left it. */
    static void ends(Cursor side, boolean hasLeft) {
        change(side, (entry, half) -> {
            half.isDone |= half.isNear;
            half.hasLeft |= hasLeft;
            half.waits = false;
            boolean isOver = (entry.client.isDone || !entry.client.isNear) && (entry.server.isDone || !entry.server.isNear);
            if (isOver) LIVE.remove(side.pipe);
        });
    }

    private static void change(Cursor side, BiConsumer<Registered, Half> change) {
        inside(() -> {
            Registered entry = LIVE.get(side.pipe);
            if (entry != null) change.accept(entry, side.isClient ? entry.client : entry.server);
        });
    }

    private static void inside(Runnable body) {
        LOCK.lock();
        try {
            body.run();
        } finally {
            LOCK.unlock();
        }
    }

    @SuppressWarnings("deprecation")
    private static String name(Thread thread) {
        String name = thread.getName();
        String kind = YieldPolicy.isVirtual() ? "virtual thread " : "thread ";
        String shown = name.length() > LONGEST_NAME ? name.substring(0, LONGEST_NAME) : name;
        return kind + (shown.isEmpty() ? "" : shown + " ") + "#" + thread.getId();
    }
}
