package duologue;

/** A payload that holds endpoints, as it lies in the ring: whoever destroys it unread finds them without looking inside. */
final class Cargo {
    final Object payload;
    final Handle[] endpoints;

    Cargo(Object payload, Handle[] endpoints) {
        this.payload = payload;
        this.endpoints = endpoints;
    }
}
