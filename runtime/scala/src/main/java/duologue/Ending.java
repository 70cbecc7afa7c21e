package duologue;

/** Why a session with another process is over. Written under the lock of its {@link FarEnd}. */
final class Ending {
    /** Why nothing more will arrive from the connection; null while something may arrive. */
    Reason found;
    /** The same, once everything that arrived before is delivered. */
    volatile Reason why;
    /** What a peer has done that broke the session, or the failure of the connection; null if there is nothing to add. */
    volatile String detail;

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
