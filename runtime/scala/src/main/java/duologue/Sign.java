package duologue;

/**
 * What one side shows to its peer, which looks at it with every message. It is seldom written, so that looking stays cheap; what
 * changes with every message lies elsewhere.
 */
final class Sign extends Padding {
    /** Who waits here for a message; or {@link Waiter#EAGER}; or null. */
    volatile Waiter waiter;
    /** Who waits here for room. */
    volatile Waiter room;
    /** Whether this side has been left; never taken back. */
    volatile boolean left;
}
