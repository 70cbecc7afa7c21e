package duologue;

/**
 * What an endpoint is made of: the side it belongs to, and the turn in which it may be used. The names contain a `$`, which no
 * identifier of a protocol can, so that no message of a sending endpoint collides with them.
 */
abstract class Handle implements Cloneable {
    Side $side;
    long $turn;

    Handle(Side side, long turn) {
        this.$side = side;
        this.$turn = turn;
    }

    /** The state, as the specification spells it. */
    public abstract String $state();

    /** This endpoint in other hands, on another side: the next turn, so that a use which has begun on this side misses it. */
    final Handle $on(Side side) {
        return $twin(side, $turn + 1);
    }

    /** An endpoint of the same state, in another turn. */
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
