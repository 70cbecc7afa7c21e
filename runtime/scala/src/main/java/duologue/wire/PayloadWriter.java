package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Collects encoded payloads, in the format of {@code docs/wire.md}. For generated code and transports; programs do not need it.
 *
 * <p>A value that has no encoding (a number out of range, text with an unpaired surrogate, lists nested too deeply), or is longer
 * than its bound, throws {@link PayloadRefused}.
 */
public final class PayloadWriter {
    /** The deepest nesting of lists. */
    static final int DEEPEST = 256;
    /** The most items in a list of items that take no bytes. */
    static final int MOST_EMPTY = 0xffff;

    private static final int FIRST = 256;

    static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private byte[] bytes = new byte[FIRST];
    private int end;
    private int depth;

    /** Creates an empty writer. */
    public PayloadWriter() {}

    /** The bytes so far; the array may be longer, and is another one once the writer has grown. */
    byte[] array() {
        return bytes;
    }

    /** How many bytes there are. */
    int size() {
        return end;
    }

    /** Removes all bytes after the first {@code size}, and leaves all lists. */
    void truncate(int size) {
        end = size;
        depth = 0;
    }

    /** Removes the bytes before {@code from}. Releases memory that a large message has left behind, if nothing remains. */
    void remove(int from, int most) {
        end -= from;
        if (end > 0) {
            System.arraycopy(bytes, from, bytes, 0, end);
        } else if (bytes.length > most) {
            bytes = new byte[FIRST];
        }
    }

    /** Makes space for {@code gap} bytes at {@code at}. */
    void insert(int at, int gap) {
        reserve(gap);
        System.arraycopy(bytes, at, bytes, at + gap, end - at);
        end += gap;
    }

    /** A copy of all bytes. */
    public byte[] toByteArray() {
        return Arrays.copyOf(bytes, end);
    }

    /** Makes sure that {@code more} bytes fit, and returns where they begin. */
    private int reserve(int more) {
        if (bytes.length - end < more) {
            grow(more);
        }
        return end;
    }

    private void grow(int more) {
        long needed = (long) end + more;
        if (needed > Integer.MAX_VALUE - 8) {
            throw new PayloadRefused("a message is larger than 2 GiB");
        }
        bytes = Arrays.copyOf(bytes, (int) Math.min(Integer.MAX_VALUE - 8, Math.max(needed, 2L * bytes.length)));
    }

    /** Makes space for {@code count} bytes, possibly in another array, and returns where they begin. */
    private int advance(int count) {
        int at = reserve(count);
        end = at + count;
        return at;
    }

    private void put(byte value) {
        int at = advance(1);
        bytes[at] = value;
    }

    private static void check(boolean fits, String type, long value) {
        if (!fits) {
            throw new PayloadRefused(value + " is out of range for " + type);
        }
    }

    public void bool(boolean value) {
        put((byte) (value ? 1 : 0));
    }

    public void u8(int value) {
        check((value & ~0xff) == 0, "u8", value);
        put((byte) value);
    }

    public void u16(int value) {
        check((value & ~0xffff) == 0, "u16", value);
        int at = advance(2);
        SHORT.set(bytes, at, (short) value);
    }

    public void u32(long value) {
        check((value & ~0xffff_ffffL) == 0, "u32", value);
        int at = advance(4);
        INT.set(bytes, at, (int) value);
    }

    public void i8(int value) {
        put((byte) value);
    }

    public void i16(int value) {
        int at = advance(2);
        SHORT.set(bytes, at, (short) value);
    }

    public void i32(int value) {
        int at = advance(4);
        INT.set(bytes, at, value);
    }

    /** Also for {@code u64}. */
    public void i64(long value) {
        int at = advance(8);
        LONG.set(bytes, at, value);
    }

    public void f32(float value) {
        i32(Float.floatToRawIntBits(value));
    }

    public void f64(double value) {
        i64(Double.doubleToRawLongBits(value));
    }

    /** A count, or the position of a variant. */
    public void count(long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            put((byte) (rest & 0x7f | 0x80));
            rest >>>= 7;
        }
        put((byte) rest);
    }

    /** How many bytes {@link #count} writes. */
    static int sizeOfCount(long value) {
        return Math.max(1, (70 - Long.numberOfLeadingZeros(value)) / 7);
    }

    private static void bound(String what, String unit, long length, long most) {
        if (length > most) {
            throw new PayloadRefused(what + " has " + length + " " + unit + ", and its limit is " + most);
        }
    }

    public void bytes(byte[] value) {
        count(value.length);
        raw(value);
    }

    /** At most {@code most} bytes. */
    public void bytes(byte[] value, long most) {
        bound("a `bytes`", "bytes", value.length, most);
        bytes(value);
    }

    /** The bytes without a count. */
    public void raw(byte[] value) {
        int at = advance(value.length);
        System.arraycopy(value, 0, bytes, at, value.length);
    }

    public void str(String value) {
        str(value, Long.MAX_VALUE);
    }

    /** Text of at most {@code most} bytes of UTF-8. */
    public void str(String value, long most) {
        int length = value.length();
        // No character takes less than a byte, so what is certainly too long is not encoded.
        if (length > most) {
            throw new PayloadRefused("a text has at least " + length + " bytes, and its limit is " + most);
        }
        int start = end;
        // The count of a text of ASCII characters, which is moved if it turns out to be too short.
        int width = sizeOfCount(length);
        reserve(width + length);
        int at = start + width;
        int i = 0;
        for (; i < length && value.charAt(i) < 0x80; i++) {
            bytes[at + i] = (byte) value.charAt(i);
        }
        end = at + i;
        if (i < length) {
            encode(value, i);
        }
        int size = end - at;
        bound("a text", "bytes", size, most);
        int wider = sizeOfCount(size) - width;
        if (wider > 0) {
            insert(at, wider);
        }
        int last = end;
        end = start;
        count(size);
        end = last;
    }

    private void encode(String value, int from) {
        // No character takes more than three bytes for each of its units.
        int at = reserve((int) Math.min(Integer.MAX_VALUE, 3L * (value.length() - from)));
        ByteBuffer out = ByteBuffer.wrap(bytes, at, bytes.length - at);
        CharBuffer in = CharBuffer.wrap(value, from, value.length());
        if (StandardCharsets.UTF_8.newEncoder().encode(in, out, true).isError()) {
            throw new PayloadRefused("a text contains half of a surrogate pair, which UTF-8 cannot represent");
        }
        end = out.position();
    }

    /** Begins a list of this many items, of which each takes at least {@code least} bytes; {@link #leave} ends it. */
    public void enter(int items, long least) {
        if (depth == DEEPEST) {
            throw new PayloadRefused("lists are nested deeper than " + DEEPEST);
        }
        if (least == 0 && items > MOST_EMPTY) {
            throw new PayloadRefused("a list has more than " + MOST_EMPTY + " items that take no bytes");
        }
        depth++;
        count(items);
    }

    /** Begins a list of at most {@code most} items. */
    public void enter(int items, long least, long most) {
        bound("a list", "items", items, most);
        enter(items, least);
    }

    public void leave() {
        depth--;
    }
}
