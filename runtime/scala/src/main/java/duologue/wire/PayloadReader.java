package duologue;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Reads one encoded payload, in the format of {@code docs/wire.md}. For generated code and transports; programs do not need it.
 *
 * <p>Everything is checked before memory is allocated for it: what is malformed throws {@link MalformedPayload}.
 */
public final class PayloadReader {
    /** How much memory the values of one payload may take, unless the reader is given another limit. */
    static final long MEMORY = 64L << 20;

    /** What a list takes for each item, and what a text or `bytes` takes in addition to its content, estimated. */
    private static final long ITEM = 40;
    private static final long OBJECT = 64;

    private byte[] bytes;
    private int at;
    private int end;
    private int depth;
    private long memory;
    private long number;

    /** Creates a reader without any bytes. */
    public PayloadReader() {}

    /** A reader of all of these bytes. */
    public PayloadReader(byte[] bytes) {
        begin(bytes, 0, bytes.length, MEMORY);
    }

    /** Begins with a payload, whose values may take at most {@code memory} bytes. */
    void begin(byte[] bytes, int from, int end, long memory) {
        this.bytes = bytes;
        this.at = from;
        this.end = end;
        this.depth = 0;
        this.memory = memory;
        this.number = 0;
    }

    /** Stores a payload that is a single number, and returns null in its place. */
    public Object number(long value) {
        number = value;
        return null;
    }

    /** The number that was stored last. */
    public long number() {
        return number;
    }

    /** How many bytes have not been read. */
    public int left() {
        return end - at;
    }

    /** Checks that nothing is left over. */
    public void finish() {
        if (at != end) {
            throw new MalformedPayload((end - at) + " bytes are left over");
        }
    }

    private int take(int count) {
        int from = at;
        if (count > end - from) {
            throw new MalformedPayload("bytes are missing");
        }
        at = from + count;
        return from;
    }

    private void charge(long count) {
        memory -= count;
        if (memory < 0) {
            throw new MalformedPayload("the values take too much memory", true);
        }
    }

    /** 0 or 1. */
    private boolean flag(String what) {
        byte value = bytes[take(1)];
        if ((value & ~1) != 0) {
            throw new MalformedPayload(what + " begins with a byte other than 0 or 1");
        }
        return value != 0;
    }

    public boolean bool() {
        return flag("a bool");
    }

    /** Whether an option has a value. */
    public boolean some() {
        return flag("an option");
    }

    public int u8() {
        return bytes[take(1)] & 0xff;
    }

    public int u16() {
        return (short) PayloadWriter.SHORT.get(bytes, take(2)) & 0xffff;
    }

    public long u32() {
        return i32() & 0xffff_ffffL;
    }

    public byte i8() {
        return bytes[take(1)];
    }

    public short i16() {
        return (short) PayloadWriter.SHORT.get(bytes, take(2));
    }

    public int i32() {
        return (int) PayloadWriter.INT.get(bytes, take(4));
    }

    /** Also for {@code u64}. */
    public long i64() {
        return (long) PayloadWriter.LONG.get(bytes, take(8));
    }

    public float f32() {
        return Float.intBitsToFloat(i32());
    }

    public double f64() {
        return Double.longBitsToDouble(i64());
    }

    /** A count; as an unsigned number, it may have 64 bits. */
    public long count() {
        long value = 0;
        for (int shift = 0; ; shift += 7) {
            byte next = bytes[take(1)];
            if (shift == 63 && next != 1) {
                throw new MalformedPayload("a count does not fit into 64 bits, or is longer than necessary");
            }
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                if (next == 0 && shift > 0) {
                    throw new MalformedPayload("a count is longer than necessary");
                }
                return value;
            }
        }
    }

    /** The position of one of {@code variants}. */
    public int variant(int variants) {
        long position = count();
        if (Long.compareUnsigned(position, variants) >= 0) {
            throw new MalformedPayload("there is no variant " + Long.toUnsignedString(position));
        }
        return (int) position;
    }

    /** For a variant that {@link #variant} does not return. */
    public MalformedPayload unknown(int position) {
        return new MalformedPayload("there is no variant " + position);
    }

    private static void bound(String what, long count, long most) {
        if (Long.compareUnsigned(count, most) > 0) {
            throw new MalformedPayload(what + " is longer than " + most + ", which is its limit");
        }
    }

    /** A count of bytes that are there. */
    private int length(String what, long most) {
        long count = count();
        bound(what, count, most);
        if (Long.compareUnsigned(count, end - at) > 0) {
            throw new MalformedPayload("bytes are missing");
        }
        return (int) count;
    }

    public byte[] bytes() {
        return bytes(Long.MAX_VALUE);
    }

    /** At most {@code most} bytes. */
    public byte[] bytes(long most) {
        int count = length("a `bytes`", most);
        charge(OBJECT + count);
        return raw(count);
    }

    /** This many bytes. */
    public byte[] raw(int count) {
        int from = take(count);
        return java.util.Arrays.copyOfRange(bytes, from, from + count);
    }

    public String str() {
        return str(Long.MAX_VALUE);
    }

    /** Text of at most {@code most} bytes of UTF-8. */
    public String str(long most) {
        int count = length("a text", most);
        int from = take(count);
        charge(OBJECT + 2L * count);
        String text = new String(bytes, from, count, StandardCharsets.UTF_8);
        // What is malformed is replaced by this character, which may also be there itself.
        if (text.indexOf('\ufffd') >= 0) {
            try {
                StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, from, count));
            } catch (CharacterCodingException malformed) {
                throw new MalformedPayload("a text is not UTF-8");
            }
        }
        return text;
    }

    /** Begins a list whose items take at least {@code least} bytes each, and returns their number; {@link #leave} ends it. */
    public int enter(long least) {
        return enter(least, Long.MAX_VALUE);
    }

    /** Begins a list of at most {@code limit} items. */
    public int enter(long least, long limit) {
        if (depth == PayloadWriter.DEEPEST) {
            throw new MalformedPayload("lists are nested deeper than " + PayloadWriter.DEEPEST);
        }
        long count = count();
        bound("a list", count, limit);
        long most = least == 0 ? PayloadWriter.MOST_EMPTY : (end - at) / least;
        if (Long.compareUnsigned(count, most) > 0) {
            throw new MalformedPayload("a list has fewer items than it declares");
        }
        charge(OBJECT + ITEM * count);
        depth++;
        return (int) count;
    }

    public void leave() {
        depth--;
    }
}
