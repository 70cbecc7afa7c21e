package duologue;

/**
 * Padding before fields that one thread reads or writes with every message. It keeps them out of the cache line of the preceding
 * object in memory, which another thread may write with every message. The virtual machine lays out the fields of a superclass
 * first, but fills the gap between the header and the first long with a smaller field of a subclass, unless there is one here.
 */
abstract class Padding {
    int $0;
    long $1, $2, $3, $4, $5;
}
