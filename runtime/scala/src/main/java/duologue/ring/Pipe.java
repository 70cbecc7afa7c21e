package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Collections;

/**
 * What the two sides of one session share: one ring for both directions.
 *
 * <p>A state of a protocol has one direction, so a side sends only after it has received everything that the other side sent.
 * Hence the messages of a session are in one total order that both sides count in the same way, and there are never more unread
 * messages than the longest run in one direction. Each run starts in slot 0 again. A slot consists of a <em>word</em>, a number
 * next to it, and an object. The word identifies the message in the slot (by its number in the session, from 1), so a side that
 * waits can distinguish the message it waits for from its own last message, which is in the same slot and which the peer may not
 * have read yet.
 *
 * <p>A payload that is a single primitive value is stored as the number, in the cache line that is fetched for the word anyway. A
 * reference is stored elsewhere, and storing it also dirties the collector's card, so messages without an object do not touch
 * references.
 *
 * <h2>Memory ordering</h2>
 *
 * Let W be the word of the slot of message n. A <em>fence</em> is a full fence; with respect to what two threads do before and
 * after their fences, one of the two fences comes first.
 * <ul>
 *   <li><b>Payload.</b> The sender writes the payload (number or object) with plain stores, then stores W with release. The
 *       receiver reads W with acquire and finds number n: the payload is visible. When message m &gt; n reuses the slot, its
 *       sender has either received a message of the other direction that was sent after n was read (a turn), or has read
 *       {@link #consumed} &ge; n; both were published after the receiver took n out. So no two accesses to a payload race.
 *   <li><b>Waking.</b> The receiver stores its {@link SharedFlags#waiter}, executes a fence, then reads W once more and sleeps.
 *       The sender stores W, executes a fence, then reads the waiter. If the receiver's fence comes first, the sender sees the
 *       waiter; if the sender's fence comes first, the receiver sees the message. In a long run the sender's fence can be left
 *       out: see {@link FenceElision}.
 *   <li><b>Late wake-up.</b> Between its fence and its read of the waiter, a sender may be overtaken by the receiver, and then
 *       sees no waiter or that of a later wait. A waiter therefore checks again when woken, and tolerates an unnecessary wake-up.
 *       Its fields are final or volatile, so they are safe to read in this race.
 *   <li><b>Abandoning.</b> A side is abandoned by the thread that takes its {@link SideState}'s watch away by a CAS, which can
 *       be any thread; {@link SideState#breakOff}, where two uses have overlapped, takes it away by a store. That thread then
 *       sets {@link SharedFlags#left} and executes a fence. The sender reads {@code left} before it publishes. If it publishes
 *       nevertheless, because it has read the flag a moment too early, the message is never read, and with its next message, or
 *       while it waits, the sender finds out that the peer has closed the session. A receiver that finds no message, but the
 *       session closed by the peer, reads W once more: what was sent before is there.
 *   <li><b>Endpoints in messages</b> are not lost in that way: a message with endpoints inside is taken by a CAS of its word. The
 *       thread that abandons a side sweeps the ring after its fence, and takes the messages with endpoints that it finds. Their
 *       sender reads both flags once more after its fence, and if a side is abandoned it takes its own message back by a CAS. If
 *       the sender's fence comes first, the sweep, or the receiver's last read, finds the message. If the other fence comes
 *       first, the sender finds that the side is abandoned. So each such message is taken by exactly one of them.
 *   <li><b>Space.</b> In an unbounded run, a sender that is out of credit stores {@link SharedFlags#spaceWaiter}, then reads {@link
 *       #consumed}; the receiver stores {@code consumed}, then reads {@code spaceWaiter}. All four accesses are volatile, hence
 *       sequentially consistent: at least one of the two sees the other's store.
 * </ul>
 */
final class Pipe {
    /** The sender published this message without a fence. */
    static final int EAGER = 1;
    /** The payload is an object. */
    static final int OBJECT = 2;
    /** The payload contains endpoints. */
    static final int CARGO = 4;
    /** After this message the other side sends. */
    static final int TURN = 8;
    /** After this message the session is over. */
    static final int END = 16;
    /** After this message the same side sends again. */
    static final int STAY = 0;
    /** A message with endpoints that has been taken. */
    static final int TAKEN = 32;
    /** Set only in a word that a receiver has taken, not in the ring: the use is an owner's, see {@link Ownership#begin}. */
    static final int OWNED = TAKEN;
    /** The client sent the message. */
    static final int CLIENT = 64;

    /** The lowest bit, in a word, of the message's index among the messages of its state; the index has eight bits. */
    static final int INDEX = 7;
    /** The lowest bit, in a word, of the message's number in the session; the number has the remaining bits. */
    static final int NUMBER = 15;

    /** How many messages may be unread in a protocol with an unbounded run. */
    static final int UNBOUNDED_SLOTS = 255;

    /**
     * The receiver of an unbounded run publishes its progress after this many messages: no more than half of
     * {@link #UNBOUNDED_SLOTS}.
     */
    static final int PROGRESS = 64;

    static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

    final String protocol;
    final Segment first;
    /** How many messages of one run may be unread. */
    final int slots;
    /** Whether a run may be longer than the ring, so that the receiver has to publish its progress. */
    final boolean unbounded;

    /** The states of the protocol, if the peer is in another process; null within a process. */
    final WireState[] states;

    /** The number of the last message that is known to have been received; written by the receiver of an unbounded run. */
    volatile long consumed;

    Pipe(String protocol, int capacity) {
        this(protocol, capacity, null);
    }

    Pipe(String protocol, int capacity, WireState[] states) {
        this.states = states;
        this.protocol = protocol;
        this.unbounded = capacity <= 0;
        this.slots = unbounded ? UNBOUNDED_SLOTS : capacity;
        this.first = Segment.first(slots());
    }

    /** How many slots the whole ring has; a power of two if runs wrap around. */
    int slots() {
        return unbounded ? slots + 1 : slots;
    }

    /** Whether the word says that message {@code number} is there. */
    static boolean holds(long word, long number) {
        return word >>> NUMBER == (number << NUMBER) >>> NUMBER;
    }

    /** The bit of a word that distinguishes the messages of one side from those of the other. */
    static int mark(boolean isClient) {
        return isClient ? CLIENT : 0;
    }

    /** The index of a message among the messages of its state. */
    static int index(long word) {
        return (int) (word >>> INDEX) & 0xff;
    }

    /** Takes a message with endpoints. Only the first caller succeeds. */
    static boolean takeEndpoints(long[] words, int at, long word) {
        return (word & TAKEN) == 0 && WORD.compareAndSet(words, at, word, word | TAKEN);
    }

    /** Takes the messages with endpoints that one side has not read. The ring may be in use at the same time. */
    void sweep(boolean isClient, ArrayDeque<Abandonable> unread) {
        for (Segment each = first; each != null; each = each.next) {
            for (int i = 0; i < each.slots(); i++) {
                long word = (long) WORD.getAcquire(each.words, at(i));
                boolean hasEndpoints = (word & CARGO) != 0 && (word & CLIENT) == mark(!isClient);
                // The payload is another one only if two uses by the peer have overlapped.
                if (hasEndpoints
                        && takeEndpoints(each.words, at(i), word)
                        && each.payload(i) instanceof EndpointPayload payload) {
                    each.payloads[i] = null;
                    Collections.addAll(unread, payload.endpoints);
                }
            }
        }
    }

    /** The index of this slot's word in {@link Segment#words}. */
    static int at(int slot) {
        return Segment.FRONT + (slot << 1);
    }

    /**
     * A part of a session's ring. The ring begins small and grows by another segment when a run first comes to the end of the last
     * one, up to the size that the protocol needs. The sender creates the segment before it publishes the message that precedes it,
     * so a receiver that gets there finds it.
     */
    static final class Segment {
        /** How many slots a ring begins with. */
        private static final int FIRST = 4;
        /** Each further segment has this many times the slots of all earlier ones. */
        private static final int GROWTH = 3;

        /**
         * How many longs are unused before the slots, in addition to the header of the array, and after them. They keep every
         * neighbor, wherever the collector moves it, out of the cache lines of the slots, which the two sides pass back and forth.
         */
        private static final int FRONT = 5;
        private static final int BACK = 6;

        /** The word of each slot, {@link Pipe#at} its index, followed by the number. */
        final long[] words;
        /** The objects of the slots; created by the sender of the first one. */
        Object[] payloads;
        /** The segment after this one, which a side that sweeps the ring may read at any time. */
        volatile Segment next;

        private Segment(int slots) {
            this.words = new long[FRONT + 2 * slots + BACK];
        }

        /** The first segment of a ring of {@code slots} slots. */
        static Segment first(int slots) {
            return new Segment(Math.min(FIRST, slots));
        }

        /** How many slots there are. */
        int slots() {
            return words.length - FRONT - BACK >> 1;
        }

        /** The segment after this one, created if necessary; {@code first} if the ring already has all of its {@code slots}. */
        Segment grow(Segment first, int slots) {
            if (next != null) {
                return next;
            }
            int so = 0;
            for (Segment each = first; each != null; each = each.next) {
                so += each.slots();
            }
            if (so >= slots) {
                return first;
            }
            next = new Segment(Math.min(GROWTH * so, slots - so));
            return next;
        }

        void put(int slot, Object payload) {
            if (payloads == null) {
                payloads = new Object[slots()];
            }
            payloads[slot] = payload;
        }

        /** The object of a slot, or null. */
        Object payload(int slot) {
            return payloads == null ? null : payloads[slot];
        }

        /** Takes the object out of a slot. */
        Object take(int slot) {
            Object payload = payloads[slot];
            payloads[slot] = null;
            return payload;
        }
    }
}
