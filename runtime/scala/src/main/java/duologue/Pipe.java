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
 * Let W be the word of the slot of message n. A <em>fence</em> is a full one; for what two threads do before and behind their
 * fences, one of the fences comes first.
 * <ul>
 *   <li><b>Payload.</b> The sender writes the payload (number or object) plainly, then stores W with release. The receiver reads W with
 *       acquire and finds number n: the payload is visible. Reuse of the slot by message m &gt; n: its sender has either
 *       received a message of the other direction that was sent after n was read (a turn), or has read {@link #consumed} &ge; n;
 *       both were published after the receiver took n out. So no two accesses to a payload race.
 *   <li><b>Waking.</b> The receiver stores its {@link Sign#waiter}, then a fence, then it looks at W once more and sleeps. The
 *       sender stores W, then a fence, then it looks at the waiter. If the receiver's fence comes first, the sender sees the
 *       waiter; if the sender's, the receiver sees the message. In a long run the sender's fence can be left out:
 *       {@link Eagerness}.
 *   <li><b>Late wake.</b> Between its fence and its look at the waiter a sender may be overtaken by the receiver, and then sees
 *       no waiter or that of a later wait. A waiter therefore looks again when woken and does not mind a wake too many; what it
 *       has is final or volatile, so that it is safe to read in this race.
 *   <li><b>Leaving.</b> A side is left by whoever takes its {@link Seat}'s watch away by a CAS, in whatever thread. That sets
 *       {@link Sign#left}, then a fence. The sender looks at it before it publishes; what it publishes nevertheless, because it
 *       has looked a moment too early, nobody reads, and it hears of the peer's leaving with its next message or while it waits. A
 *       receiver that finds no message and the peer left looks at W once more: what was sent before is there.
 *   <li><b>Endpoints in messages</b> are not forgotten so: a message with endpoints inside is taken by a CAS of its word. Who
 *       leaves sweeps the ring, behind its fence, and takes what it finds of them. Their sender looks at both signs once more
 *       behind its fence, and if a side is left it takes its own message back by a CAS. Sender's fence first: the sweep, or the
 *       receiver's last look, finds the message. The other fence first: the sender finds that the side is left. So each
 *       such message is taken by exactly one of them.
 *   <li><b>Room.</b> In an unbounded run the sender out of credit stores {@link Sign#room}, then reads {@link #consumed}; the
 *       receiver stores {@code consumed}, then reads {@code room}. All four are volatile, hence sequentially consistent:
 *       not both can miss the other's store.
 * </ul>
 */
final class Pipe {
    /** The sender published this message without a fence. */
    static final int EAGER = 1;
    /** The payload is an object. */
    static final int OBJECT = 2;
    /** There are endpoints in the payload. */
    static final int CARGO = 4;
    /** After this message the other side speaks. */
    static final int TURN = 8;
    /** After this message the session is over. */
    static final int END = 16;
    /** After this message the same side speaks again. */
    static final int STAY = 0;
    /** A message with endpoints that has been taken. */
    static final int TAKEN = 32;
    /** In a word that a receiver has taken, not in the ring: its use is an owner's, see {@link Claims#begin}. */
    static final int OWNED = TAKEN;
    /** The client has sent the message. */
    static final int CLIENT = 64;

    /** Where in a word the index of the message among the messages of its state begins: eight bits. */
    static final int INDEX = 7;
    /** Where in a word the number of the message in the session begins: the remaining bits. */
    static final int NUMBER = 15;

    /** How many messages may be unread in a protocol that has an unbounded run. */
    static final int UNBOUNDED_ROOM = 255;

    /** After how many messages the receiver of an unbounded run says how far it is: no more than half of what may be unread. */
    static final int PROGRESS = 64;

    static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

    final String protocol;
    final Segment first;
    /** How many messages of one run may be unread. */
    final int room;
    /** Whether a run may be longer than the ring, so that the receiver has to say how far it is. */
    final boolean unbounded;

    /** The number of the last message known to be taken out; written by the receiver of an unbounded run. */
    volatile long consumed;

    Pipe(String protocol, int capacity) {
        this.protocol = protocol;
        this.unbounded = capacity <= 0;
        this.room = unbounded ? UNBOUNDED_ROOM : capacity;
        this.first = Segment.first(slots());
    }

    /** How many slots the whole ring has; a power of two where it is gone around. */
    int slots() {
        return unbounded ? room + 1 : room;
    }

    /** Whether the word says that message `number` is there. */
    static boolean holds(long word, long number) {
        return word >>> NUMBER == (number << NUMBER) >>> NUMBER;
    }

    /** The index of a message among the messages of its state. */
    static int index(long word) {
        return (int) (word >>> INDEX) & 0xff;
    }
}
