package duologue;

import java.io.IOException;
import java.nio.ByteBuffer;

/** The bytes that a remote state has read but not decoded yet, as frames. */
final class Inbox {
    /** What {@link #next} finds. A message is its index. */
    static final int NOTHING = -1;
    static final int ALIVE = -2;
    static final int DRAIN = -3;
    /** The peer ends the session, for reason 0. Further reasons have lower numbers. */
    static final int LEAVE = -4;

    /** The size at first, and after a large buffer was released. */
    private static final int FIRST = 1 << 8;
    /** The largest that an idle session keeps. */
    private static final int SMALL = 1 << 10;
    private static final int MOST = 64 << 10;

    private final long largest;
    private final long memory;
    private final boolean isAccepting;
    private final PayloadReader reader = new PayloadReader();
    private byte[] bytes;
    private ByteBuffer view;
    private int from;
    private int end;
    /** Where the payload of the message that {@link #next} has found begins, and where it ends. */
    private int body;
    private int after;

    /** Payloads may have {@code largest} bytes, and their values may take {@code memory} bytes. */
    Inbox(long largest, long memory, boolean isAccepting) {
        this.largest = largest;
        this.memory = memory;
        this.isAccepting = isAccepting;
        this.bytes = new byte[FIRST];
        this.view = ByteBuffer.wrap(bytes);
    }

    /** Reads once. Returns false if nothing is there; throws EOFException at the end. */
    boolean read(Transport transport) throws IOException {
        if (from == end) {
            from = 0;
            end = 0;
        }
        if (end == bytes.length) {
            compact();
        }
        view.limit(bytes.length).position(end);
        int count = transport.read(view);
        if (count < 0) {
            throw new java.io.EOFException("the connection ended");
        }
        end += count;
        if (end == bytes.length && bytes.length < MOST) {
            resize(2 * bytes.length);
        }
        return count > 0;
    }

    /** Makes space after the bytes that are there. */
    private void compact() {
        if (from == 0) {
            resize(2 * bytes.length);
        } else {
            System.arraycopy(bytes, from, bytes, 0, end - from);
            end -= from;
            from = 0;
        }
    }

    private void resize(int size) {
        byte[] larger = new byte[size];
        System.arraycopy(bytes, from, larger, 0, end - from);
        end -= from;
        from = 0;
        bytes = larger;
        view = ByteBuffer.wrap(larger);
    }

    /** Whether there are bytes of an incomplete frame. */
    boolean isCut() {
        return from != end;
    }

    /**
     * The next frame, if all of it is there: a message of {@code state}, which is null if it is not the peer's
     * turn, or a control frame. Throws {@link MalformedPayload} if it is neither.
     */
    int next(WireState state) {
        if (from == end) {
            return NOTHING;
        }
        if (bytes[from] == 0) {
            return control();
        }
        if (state == null) {
            throw new MalformedPayload("a message out of turn");
        }
        int first = bytes[from];
        int at = from + 1;
        int tag = first;
        if (first < 0) {
            if (at == end) {
                return NOTHING;
            }
            int second = bytes[at++];
            if (second <= 0) {
                throw new MalformedPayload("an unknown message");
            }
            tag = first & 0x7f | second << 7;
        }
        int index = tag - 1;
        if (index >= state.messages()) {
            throw new MalformedPayload("an unknown message");
        }
        long size = state.least(index);
        if (!state.isFixed(index)) {
            size = 0;
            for (int shift = 0; ; shift += 7) {
                if (at == end) {
                    return NOTHING;
                }
                int next = bytes[at++];
                if (next < 0 && shift == 28 || next == 0 && shift > 0) {
                    throw new MalformedPayload("a size that is too large, or longer than necessary");
                }
                size |= (long) (next & 0x7f) << shift;
                if (next >= 0) {
                    break;
                }
            }
        }
        if (size < state.least(index) || size > state.most(index)) {
            throw new MalformedPayload("a message of " + size + " bytes, a size that it cannot have");
        }
        if (size > state.limit(index)) {
            throw new MalformedPayload("a message of " + size + " bytes, although its limit is " + state.limit(index));
        }
        if (size > largest) {
            throw new MalformedPayload("a message of " + size + " bytes, although the limit is " + largest);
        }
        if (size > end - at) {
            reserve(at - from + size);
            return NOTHING;
        }
        body = at;
        after = at + (int) size;
        return index;
    }

    private int control() {
        int available = end - from;
        if (available < 2) {
            return NOTHING;
        }
        int kind = bytes[from + 1];
        switch (kind) {
            case 1, 4:
                if (kind == 4 && isAccepting) {
                    throw new MalformedPayload("a request to end the session soon, which only the accepting side makes");
                }
                from += 2;
                return kind == 1 ? ALIVE : DRAIN;
            case 3:
                if (available < 3) {
                    return NOTHING;
                }
                int reason = bytes[from + 2] & 0xff;
                from += 3;
                return LEAVE - reason;
            default:
                throw new MalformedPayload("an unknown control frame");
        }
    }

    /**
     * Makes space for the rest of a frame of this many bytes. The buffer grows with what has arrived, not with what a peer
     * announces: to {@link #MOST}, and from there on to twice what is there.
     */
    private void reserve(long size) {
        if (size <= bytes.length - from) {
            return;
        }
        long wanted = Math.min(size, Math.max(MOST, 2L * (end - from)));
        if (wanted > bytes.length) {
            resize((int) wanted);
        } else if (from > 0) {
            compact();
        }
    }

    /** How many bytes the frame of the message has that {@link #next} has found. */
    int frame() {
        return after - from;
    }

    /** The payload of the message that {@link #next} has found; {@link #number} has it if it is a single number. */
    Object take(WireState state, int index) {
        reader.begin(bytes, body, after, memory);
        Object payload = state.get(index, reader);
        reader.finish();
        from = after;
        return payload;
    }

    long number() {
        return reader.number();
    }

    /** Releases memory that a large message has left behind. */
    void trim() {
        if (bytes.length > MOST && end - from < MOST) {
            resize(MOST);
        }
    }

    /** Whether the buffer is larger than an idle session needs. */
    boolean isLarge() {
        return bytes.length > SMALL;
    }

    /** Releases the memory of a large buffer that is empty. */
    void shrink() {
        if (from == end && isLarge()) {
            resize(FIRST);
        }
    }

    /** Reads what has arrived, up to a limit, and forgets it. */
    void drain(Transport transport) {
        try {
            clear();
            for (int i = 0; i < 16 && read(transport); i++) {
                clear();
            }
        } catch (IOException ended) {
            // There is nothing more to read.
        }
    }

    /** Forgets everything. */
    void clear() {
        from = 0;
        end = 0;
    }
}
