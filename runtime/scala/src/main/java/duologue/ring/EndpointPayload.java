package duologue;

/**
 * A payload that contains endpoints, as stored in the ring. It lists the endpoints, so that a message that is destroyed unread
 * gives them up without a search through its payload.
 */
final class EndpointPayload {
    final Object payload;
    final Abandonable[] endpoints;

    EndpointPayload(Object payload, Abandonable[] endpoints) {
        this.payload = payload;
        this.endpoints = endpoints;
    }
}
