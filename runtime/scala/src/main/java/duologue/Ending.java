package duologue;

/** Reason a session with another process is over. Written under the lock of its {@link FarEnd}. */
final class Ending {
    /** Reason nothing more comes from the connection; null while something may come. */
    Reason found;
    /** The same once everything that came before is delivered. */
    volatile Reason why;
    /** What a peer has done that broke the session, or the failure of the connection; null if there is nothing to add. */
    volatile String detail;

    /** Notes a reason. The first one counts. */
    void find(Reason reason, String detail) {
        if (found == null) {
            found = reason;
            if (detail != null) {
                this.detail = detail;
            }
        }
    }
}
