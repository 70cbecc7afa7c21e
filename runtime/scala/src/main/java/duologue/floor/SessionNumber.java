package duologue;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Numbers of sessions, for texts that people read. A session gets its number when it is first asked for, and keeps it. The numbers
 * are in a table, because most sessions never need one: a session has no field for it.
 */
public final class SessionNumber {
    private static final AtomicLong LAST = new AtomicLong();
    private static final Map<Object, Long> GIVEN = Collections.synchronizedMap(new WeakHashMap<>());

    private SessionNumber() {}

    /** A number that no other session in this process has. */
    public static long next() {
        return LAST.incrementAndGet();
    }

    /** The number of this session. It is distinguished by identity: it must not define {@code equals}. */
    static long of(Object session) {
        return GIVEN.computeIfAbsent(session, none -> next());
    }

    /** Gives a new session a number from {@link #next}. */
    static void give(Object session, long number) {
        GIVEN.put(session, number);
    }
}
