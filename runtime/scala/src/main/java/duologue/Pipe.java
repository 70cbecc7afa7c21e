package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What the two sides of one session share: one ring for both directions.
 *
 * <p>A state of a protocol has one direction, so a side speaks only after it has consumed all that the other said. Hence the
 * messages of a session are in one total order that both sides count alike, and never more are unread than the longest run
 * in one direction. Each run starts in slot 0 again. A slot is a <em>word</em>, a number beside it and an object; the word says which message
 * (its number in the session, from 1) the slot holds, so a side that waits tells the message it waits for from its own last
 * message, which the peer may not have read yet and which lies in the same slot.
 *
 * <p>A payload that is one primitive value is the number, and lies in the cache line that the word brings. A reference lies elsewhere,
 * and storing it also dirties the collector's card, so references are not touched where there is none.
 *
 * <h2>Memory ordering</h2>
 *
 * Let W be the word of the slot of message n.
 * <ul>
 *   <li><b>Payload.</b> The sender writes the payload (number or object) plainly, then swaps W (a full-strength RMW). The receiver reads W with
 *       acquire and finds number n: the payload is visible. Reuse of the slot by message m &gt; n: its sender has either
 *       received a message of the other direction that was sent after n was read (a turn), or has read {@link #consumed} &ge; n;
 *       both were published after the receiver took n out. So no two accesses to a payload race.
 *   <li><b>Waking.</b> The receiver stores its {@link Seat#waiter}, then CASes W to W|WAIT. The sender swaps W. Both are RMWs
 *       on W, totally ordered. CAS first: the swap returns WAIT and sees the waiter. Swap first: the CAS fails, and the
 *       receiver sees the message. There is no third case. The number in W never returns, so no CAS succeeds on a word that
 *       is equal by accident.
 *   <li><b>Late wake.</b> Between its swap and its look at the waiter a sender may be overtaken by the receiver, and then sees
 *       no waiter or that of a later wait. A waiter therefore looks again when woken and does not mind a wake too many; its
 *       fields are final, so that it is safe to read in this race.
 *   <li><b>Leaving.</b> A receiver that leaves CASes LEFT into the word it waits for; a sender that leaves swaps CLOSED in as if
 *       it were a message. By the same total order exactly one of these holds: the receiver finds the message, or the sender
 *       finds LEFT.
 *   <li><b>Room.</b> In an unbounded run the sender out of credit stores {@link #roomWaiter}, then reads {@link #consumed}; the
 *       receiver stores {@code consumed}, then reads {@code roomWaiter}. All four are volatile, hence sequentially consistent:
 *       not both can miss the other's store.
 * </ul>
 */
final class Pipe {
    /** The receiver waits for the message that comes into this slot. */
    static final int WAIT = 1;
    /** The receiver has left: the message that would come here cannot be delivered. */
    static final int LEFT = 2;
    /** In place of a message: the sender has left. */
    static final int CLOSED = 4;
    /** After this message the other side speaks. */
    static final int TURN = 8;
    /** After this message the session is over. */
    static final int END = 16;
    /** After this message the same side speaks again. */
    static final int STAY = 0;

    /** Where in a word the index of the message among the messages of its state begins: eight bits. */
    static final int INDEX = 5;
    /** Where in a word the number of the message in the session begins: the remaining bits. */
    static final int NUMBER = 13;

    /** How many messages may be unread in a protocol that has an unbounded run: with the slot for CLOSED, a power of two. */
    static final int UNBOUNDED_ROOM = 63;

    static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

    final String protocol;
    /** The words at even places, and behind each the number of its slot. */
    final long[] words;
    final Object[] payloads;
    /** How many messages of one run may be unread. */
    final int room;
    /** Whether a run may be longer than the ring, so that the receiver has to say how far it is. */
    final boolean unbounded;

    /** The number of the last message known to be taken out; written by the receiver of an unbounded run. */
    volatile long consumed;
    /** Who waits for {@link #consumed} to move. */
    volatile Waiter roomWaiter;

    Pipe(String protocol, int capacity) {
        this.protocol = protocol;
        this.unbounded = capacity <= 0;
        this.room = unbounded ? UNBOUNDED_ROOM : capacity;
        // A side that leaves must never wait for room, so one more slot is kept for CLOSED.
        int slots = room + 1;
        this.words = new long[2 * slots];
        this.payloads = new Object[slots];
    }

    /** Where the word of a slot is in {@link #words}. */
    static int word(int slot) {
        return 2 * slot;
    }

    /** Whether the word says that message `number` (or that its sender has left instead) is there. */
    static boolean holds(long word, long number) {
        return word >>> NUMBER == (number << NUMBER) >>> NUMBER;
    }
}
