package duologue;

/**
 * The parts of an endpoint: the side it belongs to, and the turn in which it may be used. The names contain a {@code $}, which no
 * identifier of a protocol can contain, so no message of a sending endpoint collides with them.
 */
abstract class Handle implements Cloneable {
    Side $side;
    long $turn;

    Handle(Side side, long turn) {
        this.$side = side;
        this.$turn = turn;
    }

    /** Begins a use during which other uses may be attempted. Returns false if this is not the live endpoint. */
    final boolean $claim() {
        return $side.claim($turn);
    }

    /** Ends a use as if it had not happened. */
    final void $restore() {
        $side.restore($turn);
    }

    /** The state's name, as spelled in the protocol file. */
    public abstract String $state();

    /** The names of the state's messages, as spelled in the protocol file, with a space between two; empty if they are not known. */
    public String $messages() {
        return "";
    }

    /**
     * This endpoint for a new holder, on another side: it has the next turn, so that a use that has begun on this side cannot
     * claim it.
     */
    final Handle $on(Side side) {
        return $twin(side, $turn + 1);
    }

    /** An endpoint of the same state and side, in another turn. */
    final Handle $at(long turn) {
        return $twin($side, turn);
    }

    private Handle $twin(Side side, long turn) {
        try {
            Handle twin = (Handle) super.clone();
            twin.$side = side;
            twin.$turn = turn;
            return twin;
        } catch (CloneNotSupportedException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
