package duologue;

/** One state of a protocol as its messages travel between processes. Implemented by generated code. */
public abstract class WireState {
    /** In {@link #next}: the session is over. */
    static final int OVER = -1;
    private static final int COLUMNS = 3;

    final String name;
    final boolean isClients;
    private final String messages;
    private final long[] rows;

    /**
     * A state in which the client sends, or the server. {@code messages} has the names of its messages, separated by spaces. {@code rows} has three numbers for each message: the smallest and the
     * largest size of its payload in bytes (-1: there is no bound), and the position of the state that follows (-1: the session
     * is over).
     */
    protected WireState(String name, boolean isClients, String messages, long... rows) {
        this.name = name;
        this.isClients = isClients;
        this.messages = messages;
        this.rows = rows;
    }

    /** The name, as spelled in the protocol file. */
    public final String name() {
        return name;
    }

    /** The name of a message, as spelled in the protocol file. Takes time, and is for observers. */
    public final String message(int index) {
        return messages.split(" ")[index];
    }

    /** Writes the payload of a message. A payload that is a single primitive value is the {@code number}. */
    public abstract void put(int index, Object payload, long number, PayloadWriter out);

    /** Reads the payload of a message. A single primitive value is stored with {@link PayloadReader#number(long)}. */
    public abstract Object get(int index, PayloadReader in);

    final int messages() {
        return rows.length / COLUMNS;
    }

    /** The smallest payload of this message, in bytes. */
    final long least(int index) {
        return rows[index * COLUMNS];
    }

    /** The largest payload of this message, in bytes. */
    final long most(int index) {
        long most = rows[index * COLUMNS + 1];
        return most < 0 ? Long.MAX_VALUE : most;
    }

    /** The most bytes of a payload that the protocol's limits allow. They change no byte of the format, so {@link #most} ignores them. */
    public long limit(int index) {
        return Long.MAX_VALUE;
    }

    /** How long the side that receives waits for a message, in milliseconds; 0 without a limit. */
    public int within() {
        return 0;
    }

    /** Whether all payloads of this message have the same number of bytes, which is then not sent. */
    final boolean isFixed(int index) {
        return least(index) == most(index);
    }

    final int next(int index) {
        return (int) rows[index * COLUMNS + 2];
    }
}
