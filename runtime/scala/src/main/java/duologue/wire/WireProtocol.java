package duologue;

import java.util.Arrays;
import java.util.HexFormat;

/** A protocol as its sessions travel between processes. Created by generated code. */
public final class WireProtocol {
    private final String name;
    private final byte[] fingerprint;
    final int capacity;
    final WireState[] states;
    private String[] acceptedByClient = {};
    private String[] acceptedByServer = {};

    /** {@code capacity} is the longest run, or 0 if a run is unbounded; the fingerprint is in hexadecimal. */
    public WireProtocol(String name, String fingerprint, int capacity, WireState... states) {
        this.name = name;
        this.fingerprint = HexFormat.of().parseHex(fingerprint);
        this.capacity = capacity;
        this.states = states;
    }

    /**
     * Adds the older fingerprints, in hexadecimal, that one side accepts. Called before the protocol is published, and returns
     * this protocol.
     */
    public WireProtocol accepting(boolean isClient, String... older) {
        if (isClient) acceptedByClient = older;
        else acceptedByServer = older;
        return this;
    }

    /** The fingerprints of older versions that one side accepts, 16 bytes each: {@code #[accepts(...)]} in the protocol file. */
    public byte[][] accepts(boolean isClient) {
        String[] older = isClient ? acceptedByClient : acceptedByServer;
        return Arrays.stream(older).map(HexFormat.of()::parseHex).toArray(byte[][]::new);
    }

    /** The name, as spelled in the protocol file. */
    public String name() {
        return name;
    }

    /** The fingerprint, which is the same for all protocols with the same behavior: 16 bytes. */
    public byte[] fingerprint() {
        return fingerprint.clone();
    }

    /** How the messages of a state are encoded. */
    public WireState state(int position) {
        return states[position];
    }

    /** Whether the client sends first. */
    public boolean isClientFirst() {
        return states[0].isClients;
    }
}
