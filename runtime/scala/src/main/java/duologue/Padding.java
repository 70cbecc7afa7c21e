package duologue;

/**
 * A cache line in front of fields that one thread writes with every message, so that they do not lie in one line with what
 * another thread writes. The virtual machine puts the fields of a superclass first.
 */
abstract class Padding {
    long $1, $2, $3, $4, $5, $6, $7, $8;
}
