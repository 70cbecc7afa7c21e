package duologue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The core of a set of receiving endpoints.
 *
 * <p>Its endpoints are claimed, so they cannot be used; their sides can be left from elsewhere. A member is <em>hot</em> when a
 * look at it may be worth while: it is new, or its bell rang. A look that finds nothing leaves the bell with the endpoint, and the
 * member costs nothing until it rings. So per message a member is looked at once in vain and armed once at most. Hot members
 * have their turn in the order in which they became so: one that comes back stands behind all others.
 *
 * <p>Only one thread at a time uses a set: {@link #enter} refuses another.
 */
final class Ports {
    private static final VarHandle USED;

    static {
        try {
            USED = MethodHandles.lookup().findVarHandle(Ports.class, "used", boolean.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** An endpoint in the set, or a free place for one. */
    static final class Member {
        private final Ports set;
        private final Doorbell.Bell bell;
        Handle endpoint;
        Object value;
        /** Whether the side was left from elsewhere, once the member has been {@link #next}. */
        boolean left;
        private boolean hot;
        /** Neighbours in the list of hot members, or the next free place. */
        private Member before;
        private Member after;

        Member(Ports set, int place) {
            this.set = set;
            this.bell = new Doorbell.Bell(set.doorbell, place);
        }
    }

    private final Doorbell doorbell = new Doorbell();
    private Member[] members = new Member[8];
    private int places;
    private Member free;
    private int size;
    /** The list of hot members is a ring that begins and ends here. */
    private final Member hot = new Member(this, -1);
    private volatile boolean used;

    Ports() {
        hot.before = hot;
        hot.after = hot;
    }

    /** Begins an operation. */
    void enter() {
        if (!USED.compareAndSet(this, false, true)) {
            throw new IllegalStateException("this set of endpoints is in use: another thread or a future waits for a message of it");
        }
    }

    /** Ends it. */
    void exit() {
        used = false;
    }

    int size() {
        return size;
    }

    /** Adds an endpoint; false if it was used before. */
    boolean add(Handle endpoint, Object value) {
        Side side = endpoint.$side;
        if (!side.claim(endpoint)) {
            return false;
        }
        Member member = place();
        member.endpoint = endpoint;
        member.value = value;
        member.left = false;
        size++;
        insert(member, hot.before);
        side.member = member;
        side.seat.expect(member.bell);
        return true;
    }

    private Member place() {
        Member member = free;
        if (member != null) {
            free = member.after;
            return member;
        }
        if (places == members.length) {
            members = Arrays.copyOf(members, 2 * places);
        }
        member = new Member(this, places);
        members[places++] = member;
        return member;
    }

    /** The member that an endpoint is; null if it is not in the set. The side's field is only a hint, the member's are the set's. */
    Member find(Handle endpoint) {
        Member member = endpoint.$side.member;
        return member != null && member.set == this && member.endpoint == endpoint ? member : null;
    }

    /** Takes a member out; its endpoint can be used again, unless its side was left. */
    void remove(Member member) {
        Handle endpoint = member.endpoint;
        endpoint.$side.seat.retract();
        endpoint.$side.restore(endpoint);
        release(member);
    }

    /** Takes all members out; their endpoints. */
    List<Handle> clear() {
        List<Handle> endpoints = new ArrayList<>(size);
        for (int i = 0; i < places; i++) {
            if (members[i].endpoint != null) {
                endpoints.add(members[i].endpoint);
                remove(members[i]);
            }
        }
        return endpoints;
    }

    /** Makes the member's place free. */
    void release(Member member) {
        unlink(member);
        member.endpoint = null;
        member.value = null;
        member.after = free;
        free = member;
        size--;
    }

    private void insert(Member member, Member behind) {
        member.hot = true;
        member.before = behind;
        member.after = behind.after;
        behind.after.before = member;
        behind.after = member;
    }

    private void unlink(Member member) {
        if (member.hot) {
            member.hot = false;
            member.before.after = member.after;
            member.after.before = member.before;
        }
    }

    /** Makes hot whatever rang, the oldest ring first, behind what is hot already. */
    private void answer() {
        Doorbell.Bell bell = doorbell.take();
        if (bell == null) {
            return;
        }
        Member last = hot.before;
        while (bell != null) {
            Member member = members[bell.place];
            if (member.endpoint != null && !member.hot) {
                insert(member, last);
            }
            bell = bell.answer();
        }
        VarHandle.fullFence();
    }

    /** A member for which a message, or the news that a side has left, is there; null if there is none. Never waits. */
    Member next() {
        answer();
        for (Member member = hot.after; member != hot; member = hot.after) {
            Side side = member.endpoint.$side;
            if (side.seat.isReady() || !side.seat.announcePassive(member.bell)) {
                side.seat.retract();
                member.left = side.isLeft();
                return member;
            }
            unlink(member);
        }
        return null;
    }

    /**
     * Waits until {@link #next} gives a member: READY. `nanos` below 0 means for ever. The set is not empty, and it was looked for
     * a member before.
     */
    Side.Outcome await(long nanos) {
        long deadline = nanos < 0 ? 0 : System.nanoTime() + nanos;
        int spins = Patience.isVirtual() ? 0 : Patience.FEW;
        for (int i = 0; i < spins + Patience.YIELDS && doorbell.isSilent(); i++) {
            if (i < spins) {
                Thread.onSpinWait();
            } else if (!Yields.giveWay()) {
                break;
            }
        }
        Waiter.Parked waiter = new Waiter.Parked();
        Side.Outcome outcome = Side.Outcome.READY;
        if (doorbell.sleep(waiter)) {
            while (outcome == Side.Outcome.READY && doorbell.sleeps(waiter)) {
                outcome = Side.park(waiter, this, nanos, deadline);
            }
            doorbell.retract(waiter);
        }
        // The collector must not find the sides of the members forgotten while a thread waits for them: bells do not refer to the set.
        Reference.reachabilityFence(this);
        return outcome;
    }

    /**
     * Calls back with what {@link #next} gives, in the thread that rings, or at once. The thread that lays the waiter down does
     * nothing more with the set: whoever takes the waiter out goes on with it, and sees what was written, by the doorbell's CAS.
     */
    void awaitThen(Listener listener) {
        for (;;) {
            Member member = next();
            if (member != null) {
                Side.SUSPENDED.remove(this);
                listener.hears(member);
                return;
            }
            Side.SUSPENDED.add(this);
            if (doorbell.sleep(new Alarm(this, listener))) {
                return;
            }
        }
    }

    interface Listener {
        void hears(Member member);
    }

    private static final class Alarm extends Waiter {
        private final Ports set;
        private final Listener listener;

        Alarm(Ports set, Listener listener) {
            this.set = set;
            this.listener = listener;
        }

        @Override
        void wake() {
            set.awaitThen(listener);
        }
    }
}
