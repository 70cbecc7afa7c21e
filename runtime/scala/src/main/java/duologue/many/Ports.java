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
 * <p>Its endpoints are claimed, so they cannot be used; their sides can be abandoned from elsewhere. A member is <em>hot</em>
 * when a check may find something: it is new, or its bell has rung. A check that finds nothing registers the bell with the
 * endpoint, and the member costs nothing until it rings. So for each message a member is checked without success at most once,
 * and armed at most once. Hot members are served in the order in which they became hot; one that comes back goes after all
 * others.
 *
 * <p>Only one thread at a time uses a set: {@link #enter} rejects another.
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

    /** An endpoint in the set, or a free position for one. */
    static final class Member {
        private final Ports set;
        private final Doorbell.Bell bell;
        Handle endpoint;
        Object value;
        /** Whether the side was abandoned from elsewhere; valid once {@link #next} has returned the member. */
        boolean left;
        private boolean hot;
        /** The neighbors in the list of hot members; {@code after} is also the next free position. */
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
    /** The sentinel of the circular list of hot members. */
    private final Member hot = new Member(this, -1);
    private volatile boolean used;

    Ports() {
        hot.before = hot;
        hot.after = hot;
    }

    /** Begins an operation. Throws IllegalStateException if another one is in progress. */
    void enter() {
        if (!USED.compareAndSet(this, false, true)) {
            throw new IllegalStateException("this set of endpoints is in use by another thread or by a pending future or callback");
        }
    }

    /** Ends an operation. */
    void exit() {
        used = false;
    }

    int size() {
        return size;
    }

    /** Adds an endpoint. Returns false if it was used before. */
    boolean add(Handle endpoint, Object value) {
        Side side = endpoint.$side;
        if (!endpoint.$claim()) {
            return false;
        }
        Member member = place();
        member.endpoint = endpoint;
        member.value = value;
        member.left = false;
        size++;
        insert(member, hot.before);
        side.member = member;
        // Woken if the side is abandoned before the bell is registered.
        side.state.flags.waiter = member.bell;
        if (RecordFlag.REGISTRY) {
            Registered.waits(side.state, true);
        }
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

    /**
     * The member for this endpoint; null if it is not in the set. The side's field is only a hint; the member's fields belong to
     * the set.
     */
    Member find(Handle endpoint) {
        return endpoint.$side.member instanceof Member member && member.set == this && member.endpoint == endpoint ? member : null;
    }

    /** Removes a member. Its endpoint can be used again, unless its side was abandoned. */
    void remove(Member member) {
        Handle endpoint = member.endpoint;
        endpoint.$side.state.retract();
        endpoint.$restore();
        release(member);
    }

    /** Removes all members and returns their endpoints. */
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

    /** Frees the member's position. */
    void release(Member member) {
        if (RecordFlag.REGISTRY) {
            Registered.stopsWaiting(member.endpoint.$side.state);
        }
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

    /** Makes every member hot whose bell has rung, the oldest ring first, after those that are hot already. */
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

    /** A member that has a message, or whose session was closed by either side; null if there is none. Never waits. */
    Member next() {
        answer();
        for (Member member = hot.after; member != hot; member = hot.after) {
            Side side = member.endpoint.$side;
            if (side.state.isReady() || !side.state.announcePassive(member.bell)) {
                side.state.retract();
                member.left = side.isLeft();
                return member;
            }
            unlink(member);
        }
        return null;
    }

    /**
     * Waits until {@link #next} may find a member: READY. A negative {@code nanos} means no time limit. The set is not empty, and
     * {@link #next} has been called before.
     */
    Outcome await(long nanos) {
        long deadline = nanos < 0 ? 0 : System.nanoTime() + nanos;
        int spins = YieldPolicy.isVirtual() ? 0 : SpinBudget.FEW;
        for (int i = 0; i < spins + SpinBudget.YIELDS && doorbell.isSilent(); i++) {
            if (i < spins) {
                Thread.onSpinWait();
            } else if (!YieldPolicy.yieldUnlessSlow()) {
                break;
            }
        }
        Waiter.Parked waiter = new Waiter.Parked();
        Outcome outcome = Outcome.READY;
        if (doorbell.sleep(waiter)) {
            while (outcome == Outcome.READY && doorbell.sleeps(waiter)) {
                outcome = Side.park(waiter, this, nanos, deadline);
            }
            doorbell.retract(waiter);
        }
        // The collector must not treat the members' sides as forgotten while a thread waits for them: bells do not refer to the
        // set.
        Reference.reachabilityFence(this);
        return outcome;
    }

    /**
     * Calls back with what {@link #next} returns, in the thread that rings, or at once. The thread that stores the waiter does
     * nothing more with the set: the thread that takes the waiter out continues with it, and sees what was written, because of
     * the doorbell's CAS.
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

    /**
     * Calls back once when {@link #next} may find a member, at once if it does; nothing is taken out. The thread that rings calls
     * back, or the one that gives the pause up. The set is in use until then, and not afterwards.
     */
    Pause pause(Runnable resume) {
        Pause pause = new Pause(this, resume);
        Side.SUSPENDED.add(this);
        if (next() != null || !doorbell.sleep(pause)) {
            pause.wake();
        }
        return pause;
    }

    /** A wait that takes nothing. It is over when the doorbell no longer has it, which happens once. */
    static final class Pause extends Waiter {
        private final Ports set;
        private final Runnable resume;

        Pause(Ports set, Runnable resume) {
            this.set = set;
            this.resume = resume;
        }

        @Override
        void wake() {
            Side.SUSPENDED.remove(set);
            set.exit();
            resume.run();
        }

        /** Ends the wait, unless it is over. */
        void giveUp() {
            if (set.doorbell.retract(this)) {
                wake();
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
