package duologue;

import java.util.ArrayDeque;

/** An endpoint in an unread message, whose session is abandoned with it. */
interface Abandonable {
    /** Abandons the session, and adds what its own unread messages contain to {@code unread}. */
    void leave(ArrayDeque<Abandonable> unread);
}
