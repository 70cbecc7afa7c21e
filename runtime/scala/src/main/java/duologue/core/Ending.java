package duologue;

/**
 * Why a session with another process is over, and what is reported until then. Written under the lock of its {@link FarEnd}, except
 * that {@link #report} is called without it.
 */
final class Ending {
    /** Null if nobody observes the session. */
    private final SessionEvents events;
    private boolean isReported;
    /** Why nothing more will arrive from the connection; null while something may arrive. */
    Reason found;
    /** The same, once everything that arrived before is delivered. */
    volatile Reason why;
    /** What a peer has done that broke the session, or the failure of the connection; null if there is nothing to add. */
    volatile String detail;

    Ending(SessionEvents events) {
        this.events = events;
    }

    /** A message was sent, or has arrived. */
    void message(WireState state, int index, boolean isSent, long bytes, boolean isTurn) {
        if (events != null) {
            events.message(state, index, isSent, bytes, isTurn);
        }
    }

    /** The session has ended for the near side, in this state unless it is null. Only the first call counts. */
    void end(Reason reason, WireState state) {
        if (events != null && !isReported) {
            isReported = true;
            events.ended(reason.ordinal(), detail, state);
        }
    }

    /** Called after the lock was released. */
    void report() {
        if (events != null) {
            events.report();
        }
    }

    /** The peer has said that it ends the session, for a reason with this number. */
    void leave(int number) {
        switch (number) {
            case 1 -> find(Reason.BROKEN, "the peer reports that this side broke the format");
            case 2 -> find(Reason.LATE, null);
            case 3 -> find(Reason.TOO_LARGE, null);
            default -> find(Reason.LEFT, null);
        }
    }

    /** Records a reason. Only the first one counts. */
    void find(Reason reason, String detail) {
        if (found == null) {
            found = reason;
            if (detail != null) {
                this.detail = detail;
            }
        }
    }
}
