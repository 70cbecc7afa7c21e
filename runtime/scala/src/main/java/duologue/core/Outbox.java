package duologue;

import java.io.IOException;
import java.nio.ByteBuffer;

/** The bytes that a remote state has not written yet, as frames. */
final class Outbox {
    /** How much is collected before it is written. */
    static final int FULL = 64 << 10;

    /** The longest buffer that is kept for what is sent next: one that is full has at most this length, unless a message is long. */
    private static final int KEPT = 2 * FULL;

    private static final int SMALL = 4 << 10;

    private final PayloadWriter writer = new PayloadWriter();
    private final long largest;
    private ByteBuffer view = ByteBuffer.wrap(writer.array());
    private int written;
    private boolean isLost;

    /** {@code largest} is the largest payload that the peer accepts. */
    Outbox(long largest) {
        this.largest = largest;
    }

    boolean isEmpty() {
        return written == writer.size();
    }

    /** How many bytes were added since the last time that everything was written, or more. */
    int size() {
        return writer.size();
    }

    /** How many bytes wait to be written. */
    int waiting() {
        return writer.size() - written;
    }

    boolean isFull() {
        return waiting() >= FULL;
    }

    /** Adds a message. Adds nothing, and throws {@link PayloadRefused}, if it cannot be sent. */
    void add(WireState state, int index, Object payload, long number) {
        int start = writer.size();
        try {
            writer.count(index + 1L);
            int body = writer.size();
            state.put(index, payload, number, writer);
            int size = writer.size() - body;
            if (size > state.limit(index)) {
                throw new PayloadRefused("the message has " + size + " bytes, and its limit is " + state.limit(index));
            }
            if (size > largest) {
                throw new PayloadRefused("the message has " + size + " bytes, and the peer accepts at most " + largest);
            }
            if (!state.isFixed(index)) {
                int end = writer.size();
                int width = PayloadWriter.sizeOfCount(size);
                writer.insert(body, width);
                writer.truncate(body);
                writer.count(size);
                writer.truncate(end + width);
            }
        } catch (RuntimeException | StackOverflowError refused) {
            writer.truncate(start);
            throw refused;
        }
    }

    /** Adds a control frame. */
    void control(int... bytes) {
        writer.u8(0);
        for (int each : bytes) {
            writer.u8(each);
        }
    }

    /** Writes as much as possible without waiting. Returns whether everything is written. */
    boolean write(Transport transport) throws IOException {
        if (view.array() != writer.array()) {
            view = ByteBuffer.wrap(writer.array());
        }
        while (!isEmpty()) {
            view.limit(writer.size()).position(written);
            int count = transport.write(view);
            if (count <= 0) {
                break;
            }
            written += count;
        }
        if (written > FULL || isEmpty()) {
            writer.remove(written, KEPT);
            written = 0;
        }
        return isEmpty();
    }

    /** Whether the buffer is larger than an idle session needs. */
    boolean isLarge() {
        return writer.array().length > SMALL;
    }

    /** Releases the memory of a large buffer that is empty. */
    void shrink() {
        if (isEmpty() && isLarge()) {
            writer.remove(written, SMALL);
            written = 0;
            view = ByteBuffer.wrap(writer.array());
        }
    }

    /** Forgets everything, because it cannot be written. */
    void lose() {
        isLost = true;
        writer.truncate(0);
        written = 0;
    }

    /** Whether something could not be written. */
    boolean isLost() {
        return isLost;
    }
}
