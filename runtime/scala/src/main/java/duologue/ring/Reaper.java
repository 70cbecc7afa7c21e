package duologue;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * Abandons the sides that the garbage collector has found unreachable, in a thread of its own.
 *
 * <p>The thread lives as long as there is something to watch, so that it does not retain the program's class loader when the
 * program is over. All watches refer to their reaper. Its thread does not: it waits for the collector to find the reaper
 * unreachable, too, in the same queue. A watch that is in the queue, or about to be enqueued, is reachable, and so is its reaper:
 * the thread ends only when it has handled all of them. A session that begins after the collector has found the reaper
 * unreachable creates another one.
 */
final class Reaper {
    /** The reaper of new sessions, as long as some session refers to it. */
    private static volatile WeakReference<Reaper> latest = new WeakReference<>(null);

    /** What is in the queue once the side that it watches is unreachable. */
    interface Watched {
        /** Abandons the session. */
        void leave();
    }

    final ReferenceQueue<Object> unreachable = new ReferenceQueue<>();

    private Reaper() {}

    /** The reaper of a new session. */
    static Reaper current() {
        Reaper reaper = latest.get();
        return reaper != null ? reaper : renewed();
    }

    private static synchronized Reaper renewed() {
        Reaper reaper = latest.get();
        if (reaper == null) {
            reaper = new Reaper();
            latest = new WeakReference<>(reaper);
            start(reaper.unreachable, new WeakReference<>(reaper, reaper.unreachable));
        }
        return reaper;
    }

    private static void start(ReferenceQueue<Object> unreachable, Reference<Reaper> reaper) {
        Thread thread = new Thread(null, () -> reap(unreachable, reaper), "duologue-reaper", 0, false);
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
    }

    private static void reap(ReferenceQueue<Object> unreachable, Reference<Reaper> reaper) {
        for (;;) {
            try {
                Reference<?> found = unreachable.remove();
                if (found == reaper) {
                    return;
                }
                ((Watched) found).leave();
            } catch (InterruptedException ignored) {
                // Only the end of everything it watches stops this thread.
            } catch (Throwable thrown) {
                Waiter.report(thrown);
            }
        }
    }
}
