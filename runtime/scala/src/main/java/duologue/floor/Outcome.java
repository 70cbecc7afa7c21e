package duologue;

/** How a wait has ended. LEFT means that the own side was abandoned, USED that another use has overlapped the one that waits. */
enum Outcome { READY, TIMEOUT, INTERRUPTED, LEFT, USED }
