package duologue;

/** What the near side of a session with another process wakes at its far end. */
abstract class FarEndWaiter extends Waiter {
    final FarEnd end;

    private FarEndWaiter(FarEnd end) {
        this.end = end;
    }

    /** Woken after each message of the near side, and when it is abandoned. */
    static final class Leaver extends FarEndWaiter {
        Leaver(FarEnd end) {
            super(end);
        }

        @Override
        void wake() {
            end.leaveIfLeft();
        }
    }

    /** Woken when the near side has received so much of an unbounded run that more can be delivered. */
    static final class Refill extends FarEndWaiter {
        Refill(FarEnd end) {
            super(end);
        }

        @Override
        void wake() {
            end.pump(false);
        }
    }
}
