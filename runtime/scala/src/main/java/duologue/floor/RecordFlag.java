package duologue;

/**
 * Whether this process records its sessions, and whether it has a registry of them: whether the properties {@code duologue.record} and
 * {@code duologue.registry} were set when the first session began. The virtual machine knows the value of a constant before it compiles
 * what checks it, and leaves out what is never done.
 */
final class RecordFlag {
    /** Whether there is a log or a monitor. */
    static final boolean LOG = System.getProperty("duologue.record") != null;
    /** Whether there is a registry. */
    static final boolean REGISTRY = System.getProperty("duologue.registry") != null;
    /** Whether there is any of the two. */
    static final boolean ON = LOG || REGISTRY;

    private RecordFlag() {}
}
