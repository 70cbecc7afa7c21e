package duologue;

/** Why a session with another process is over; `Why` for programs. */
enum Reason {
    LEFT,
    LOST,
    BROKEN,
    LATE,
    TOO_LARGE
}
