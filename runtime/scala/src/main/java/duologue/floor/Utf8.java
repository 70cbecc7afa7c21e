package duologue;

/** Which bytes are text. The decoders of the Java library replace what is malformed instead of rejecting it. */
final class Utf8 {
    private Utf8() {}

    /** Whether the bytes from {@code from} to {@code end} are UTF-8: no surrogates, and no form that is longer than necessary. */
    static boolean isValid(byte[] bytes, int from, int end) {
        int at = from;
        while (at < end) {
            int first = bytes[at];
            if (first >= 0) {
                at++;
                continue;
            }
            int size = sequence(bytes, at, end, first & 0xff);
            if (size == 0) {
                return false;
            }
            at += size;
        }
        return true;
    }

    /** The length of the sequence that begins with {@code first}, which is not ASCII; 0 if it is malformed. */
    private static int sequence(byte[] bytes, int at, int end, int first) {
        int size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
        if (size == 0 || end - at < size) {
            return 0;
        }
        int second = bytes[at + 1] & 0xff;
        // The ranges of table 3-7 of the Unicode standard.
        int least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        int most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (second < least || second > most) {
            return 0;
        }
        for (int i = 2; i < size; i++) {
            if ((bytes[at + i] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return size;
    }
}
