package duologue;

/**
 * What lies in front of fields that one thread writes or reads with every message, so that the object before them in memory, which another
 * thread may write with every message, has no part in their cache line. The virtual machine puts the fields of a superclass first, but fills
 * what is free between the header and the first long with a smaller field of a subclass, unless there is one here.
 */
abstract class Padding {
    int $0;
    long $1, $2, $3, $4, $5;
}
