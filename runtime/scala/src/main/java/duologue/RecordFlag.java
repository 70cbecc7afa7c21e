package duologue;

/**
 * Whether this process records its sessions: whether the property {@code duologue.record} was set when the first of them began. The
 * virtual machine knows the value of a constant before it compiles what checks it, and leaves out what is never done.
 */
final class RecordFlag {
    static final boolean ON = System.getProperty("duologue.record") != null;

    private RecordFlag() {}
}
