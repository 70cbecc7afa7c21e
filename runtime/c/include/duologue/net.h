/*
 * duologue/net.h: sessions over Unix sockets, TCP, and any connection that carries bytes in order in both directions.
 *
 * A connection carries one session. Each process gets one side of it by a generated function, such as
 * `P_client_connect` or `P_server_accept`, and then uses the same endpoint types and functions as within a process.
 * `duologue gen --c DIR --remote` generates these functions into `P_net.h`. docs/wire.md defines the bytes.
 *
 * An address is text: `unix:/run/bank.sock`, `tcp://host:7000`, `tcp://[::1]:7000` or
 * `tls://host:7000`. DUO_ADDRESS is the result for anything else. Addresses with TLS require certificates: see
 * duologue/tls.h. Host names are looked up with `getaddrinfo`, to which no time limit applies.
 */
#ifndef DUOLOGUE_NET_H
#define DUOLOGUE_NET_H

#include "duologue.h"
#include "duologue/wire.h"

#if defined(DUO_NO_MALLOC)
#error "sessions over sockets need an allocator: do not include duologue/net.h with DUO_NO_MALLOC"
#endif
#if defined(DUO_NO_THREADS)
#error "sessions over sockets need threads: do not include duologue/net.h with DUO_NO_THREADS"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The accepting side's answer to a hello. If it is below 16, the session begins. */
typedef enum duo_verdict {
    DUO_VERDICT_EQUAL = 0,
    DUO_VERDICT_ACCEPTS = 1,
    DUO_VERDICT_ACCEPTED = 2,
    DUO_VERDICT_UNKNOWN_PROTOCOL = 16,
    DUO_VERDICT_UNKNOWN_VERSION = 17,
    DUO_VERDICT_SESSIONS_FULL = 18,
    DUO_VERDICT_NOT_ADMITTED = 19,
    DUO_VERDICT_DRAINING = 20,
    DUO_VERDICT_MALFORMED = 21,
    DUO_VERDICT_SAME_SIDE = 22
} duo_verdict;

/* A description of a verdict; the string is static. */
const char *duo_verdict_text(unsigned verdict);

/* Why there is no session, where the result is DUO_REFUSED. */
typedef struct duo_refusal {
    unsigned verdict;
    /* How many milliseconds to wait before another attempt; 0 if that is not known. */
    uint32_t wait;
} duo_refusal;

/* What went wrong, as a sentence for people and logs. */
typedef struct duo_problem {
    char text[256];
} duo_problem;

/* The certificates of one side, and the authorities that it trusts: see duologue/tls.h. */
typedef struct duo_tls duo_tls;

/* Finds servers by the names of their services: see duologue/nats.h. */
typedef struct duo_directory duo_directory;

/* What is known about the other side of a connection. All of it is valid only during the call to which it is passed. */
typedef struct duo_peer {
    /* Its address; for a Unix socket without a name only `unix:`. */
    const char *address;
    duo_fingerprint fingerprint;
    /* The protocol's name according to the other side; for logs only. */
    duo_str name;
    /* The token and the trace context that its program has set (25 bytes: see docs/wire.md); otherwise empty. */
    duo_bytes token;
    duo_bytes trace;
    /* Over TLS, its certificate, in DER: see `duo_tls_has_name`. Otherwise empty. */
    duo_bytes certificate;
    /*
     * Over a Unix socket, the user of this system whose process has connected. The system may not know it, so do not admit
     * a peer for having none.
     */
    bool has_user;
    uint32_t user;
    /* For handlers: what `admit_as` has stored; otherwise NULL. */
    void *value;
} duo_peer;

/* Messages, and the bytes of their frames. Hellos, control frames and what TLS adds do not count. */
typedef struct duo_observed_count {
    uint64_t messages;
    uint64_t bytes;
} duo_observed_count;

/* A session that is observed: valid until its `ended` has returned. The names are static. */
typedef struct duo_observed_session {
    /* A number that no other observed session of this process has. */
    uint64_t id;
    /* The protocol's name, with its package. */
    const char *protocol;
    duo_fingerprint fingerprint;
    /* The fingerprint of the peer's protocol, and whether it is one of the older ones that this side accepts. */
    duo_fingerprint peer_fingerprint;
    bool peer_is_older;
    /* Whether this side accepted the session; otherwise it connected. */
    bool accepted;
    bool sends_first;
    /*
     * The peer's address: for the connecting side what it connects to, otherwise as in `duo_peer`. NULL for a connection
     * that the program provides, if the system knows no address.
     */
    const char *peer;
    /* For the observer; NULL at first. */
    void *data;
} duo_observed_session;

/* Messages that one side sent until the other side's turn, or until the end of the protocol. */
typedef struct duo_observed_run {
    /* The state that was left with the last message, with the protocol's name, as in `bank.connected`; and that message. */
    const char *state;
    const char *message;
    /* Whether this side sent the run; otherwise it received it. */
    bool sent;
    duo_observed_count count;
    /* The time since the previous run ended or the session began. */
    uint64_t nanoseconds;
} duo_observed_run;

/* How a session ended. */
typedef struct duo_observed_end {
    /*
     * DUO_OK after the protocol's last message; DUO_CLOSED if a side closed the session before that; DUO_LOST, DUO_BROKEN,
     * DUO_LATE or DUO_TOO_LARGE as operations return them. DUO_LOST also if the last message could not be written.
     */
    duo_status why;
    /* The state in which the session ended early; NULL after the protocol's last message. */
    const char *state;
    /* What this side sent, of which the peer may have received less, and what it received. */
    duo_observed_count sent;
    duo_observed_count received;
    /* How long the session lasted. */
    uint64_t nanoseconds;
} duo_observed_end;

/* A session that did not begin. All of it is valid only during the call. */
typedef struct duo_observed_refusal {
    /* Whether this is the accepting side; otherwise it is the connecting side. */
    bool accepted;
    /*
     * The protocol's name; on the accepting side according to the other side, so it may be any UTF-8 text. Empty if the
     * other side did not get that far.
     */
    duo_str protocol;
    /* As in `duo_observed_session`. */
    const char *peer;
    /*
     * Connecting side: what `_connect` returns. Accepting side: DUO_REFUSED, by this side; DUO_LOST if the other side ended
     * the connection before its hello, DUO_BROKEN if it sent something else, DUO_LATE if it took too long; DUO_TLS; or
     * DUO_NO_MEMORY. With DUO_SYSTEM, `errno` says more.
     */
    duo_status status;
    /* With DUO_REFUSED. */
    unsigned verdict;
    /* All of that as a sentence for people and logs. */
    const char *cause;
} duo_observed_refusal;

/*
 * Called when a session begins, turns and ends, and when a session does not begin; a member that is NULL is not
 * called. For each session `began` is called first, then `turned` when the direction changes or the protocol is over,
 * and `ended` once, after all others. Calls for one session are made one after another, those for several sessions at the
 * same time.
 *
 * The thread that calls is the one that connects, accepts, sends, receives or closes, before its function returns. The
 * `began` of sessions that are served, and `refused`, are called by the thread that accepts. So a callback holds up that
 * thread, and in a listener all new connections: it must not wait. No lock of the library is held, except that of a
 * shared endpoint (`_share`) through which the thread sends. A callback may use other sessions, but not its own. It must
 * return, without `longjmp` and without a C++ exception.
 */
typedef struct duo_observer {
    void (*began)(duo_observed_session *session, void *context);
    void (*turned)(duo_observed_session *session, const duo_observed_run *run, void *context);
    void (*ended)(duo_observed_session *session, const duo_observed_end *end, void *context);
    void (*refused)(const duo_observed_refusal *refusal, void *context);
    /* Must stay valid until all sessions have ended. */
    void *context;
} duo_observer;

/* Options; all zero gives the defaults. What the pointers refer to must stay valid as long as the listener exists. */
typedef struct duo_net_options {
    /*
     * Fingerprints of older versions that this side may accept, in addition to those that the protocol file names with
     * `#[accepts(...)]`: see `duologue breaking --against`. At most 16.
     */
    const duo_fingerprint *accepts;
    size_t accepts_count;
    /* The largest payload to receive, in encoded bytes: from 1 KiB to 4 GiB less one byte; 0 means 1 MiB. */
    size_t largest;
    /*
     * The most memory that a received message may take, in bytes; 0 means four times `largest`. One encoded byte
     * may become many in memory.
     */
    size_t memory;
    /* How long connecting and the handshake may take, in nanoseconds; 0 means 5 seconds. */
    uint64_t hello;
    /*
     * After this many seconds without sending a byte, a thread of the runtime notifies the peer that this side is still
     * there; 0 means never. The peer considers this side lost (DUO_LOST) after three times as long.
     */
    uint16_t heartbeat;
    /* Listeners: how many sessions there may be at once; 0 means 1,024. */
    size_t sessions;
    /* Listeners: how many connections may be in the handshake at once; 0 means 64. */
    size_t handshakes;
    /*
     * Listeners: how many connections may wait that have sent nothing yet; 0 means 512. A further one takes the place of the
     * one that has waited longest, which is closed.
     */
    size_t silent;
    /*
     * Listeners: how many connections one peer may have at once, in the handshake or with a session; 0 means that this is
     * not limited. A peer is an IPv4 address, the first 64 bits of an IPv6 address or, over a Unix socket, a user of this
     * system. A further connection is refused as DUO_VERDICT_SESSIONS_FULL before its hello is read; over
     * TLS it is closed.
     */
    size_t per_peer;
    /*
     * How long this side waits for a message in states that have no time limit of their own, in nanoseconds; 0 means no
     * limit. After that the session ends with DUO_LATE for both sides. So it does if the peer does not read what was sent
     * for as long, or for the limit of a state that has one.
     */
    uint64_t idle;
    /* Accepting side: whether a peer may have a session; NULL means always. */
    bool (*admit)(const duo_peer *peer, void *context);
    void *context;
    /*
     * Accepting side: like `admit`, which is asked first, with a value for the session. What this function stores in
     * `*value`, which is NULL before, is `value` of the peer that the handler gets, and `duo_net_admitted` returns it.
     */
    bool (*admit_as)(const duo_peer *peer, void **value, void *context);
    /*
     * Called once for each such value other than NULL, with `context`: when the session is over and its handler has
     * returned, or if it does not begin. The thread that calls it is the one that accepts, runs the handler, or sends,
     * receives or closes. No lock of the library is held, except that of a shared endpoint (`_share`). It and
     * `context` must stay valid until the last value was released, which may be after the listener was closed.
     */
    void (*release)(void *value, void *context);
    /* Connecting side: the token for the peer's `admit`. At most 3,000 bytes. */
    duo_bytes token;
    /* Connecting side: 25 bytes of trace context, or none. */
    duo_bytes trace;
    /* Connecting side: set if the result is DUO_REFUSED. */
    duo_refusal *refusal;
    /* For addresses `tls://host:port`. Other addresses, and connections that the program provides, do not use it. */
    const duo_tls *tls;
    /*
     * Connecting: the name of the service that this side wants, where another program has named the address. A certificate is then
     * checked for this name instead of the host, and with `tls` an address without TLS results in DUO_TLS. NULL means none.
     */
    const char *service;
    /* Connecting: where the server is found. The address is then the name of a service: see duologue/nats.h. NULL means none. */
    const duo_directory *directory;
    /* Connecting, and `duo_listen`: set if the result is DUO_TLS or DUO_CERTIFICATES. */
    duo_problem *problem;
    /*
     * Listeners: called for each connection on which TLS could not begin, or whose peer begins TLS where this side does
     * not; the listener continues. It is called by the thread that accepts, with `context`.
     */
    void (*failed)(const duo_problem *problem, void *context);
    /* For logs and metrics; NULL means none. Without it nothing is counted, and the clock is not read. */
    const duo_observer *observer;
} duo_net_options;

/*
 * Writes what was sent on this endpoint and has not been written yet. A run of messages is written when it ends, before
 * this side waits for anything, when 64 KiB have been collected, and otherwise after a few milliseconds, so this is
 * needed only where those milliseconds matter. Does not consume the endpoint, and does nothing within a process or in
 * shared memory. A thread of the runtime writes what the system does not accept at once.
 *
 * DUO_USED: the endpoint has already been used. DUO_CLOSED, DUO_LOST: the next operation returns the same.
 */
#define DUO_FLUSH(endpoint) duo_net_flush((endpoint).sends)
duo_status duo_net_flush(duo_endpoint sender);

/*
 * What `admit_as` has stored for this session, or NULL. `endpoint` is that of the accepting side, in the form
 * `endpoint.sends` or `endpoint.receives`, and is not consumed. The value is valid until the session is over for this side,
 * and in a handler at least until it returns.
 */
void *duo_net_admitted(duo_endpoint endpoint);

/*
 * Called by the generated functions `_connect`, and `_connect_over` for an existing connection. The latter takes
 * ownership of the descriptor, which must be a stream in both directions, and closes it when the session is over or
 * could not begin. On DUO_OK `endpoint` is the first endpoint, otherwise it is zeroed.
 *
 * DUO_REFUSED: see `duo_net_options.refusal`. DUO_LATE: it took longer than `hello`. DUO_BROKEN: the other side does
 * not use this format. DUO_LOST: it closed the connection. DUO_TLS: see `duo_net_options.problem`. DUO_SYSTEM: see
 * `errno`.
 */
DUO_MUST_CHECK duo_status duo_net_connect(const char *address, const duo_wire_protocol *protocol,
                                          duo_role role, const duo_net_options *options,
                                          duo_endpoint *endpoint);
DUO_MUST_CHECK duo_status duo_net_connect_over(int descriptor, const duo_wire_protocol *protocol,
                                               duo_role role, const duo_net_options *options,
                                               duo_endpoint *endpoint);

/*
 * The accepting side of an existing connection: called by the generated functions `_accept_over`. DUO_REFUSED: this
 * side has refused. The other results are those of connecting.
 */
DUO_MUST_CHECK duo_status duo_net_accept_over(int descriptor, const duo_wire_protocol *protocol,
                                              duo_role role, const duo_net_options *options,
                                              duo_endpoint *endpoint);

/* A socket to which peers connect. */
typedef struct duo_listener duo_listener;

/*
 * Listens on an address. Port 0 asks for a free port. The file of a Unix socket on which no process is listening
 * is replaced; any other existing file results in DUO_SYSTEM with EADDRINUSE.
 */
DUO_MUST_CHECK duo_status duo_listen(const char *address, const duo_net_options *options,
                                     duo_listener **listener);

/* The address on which it listens, with the port. */
const char *duo_listener_address(const duo_listener *listener);

/*
 * A descriptor for poll, select or epoll that is readable when `_accept` has something to do: call it with DUO_AT_ONCE
 * until it does not return DUO_OK. That includes handshakes that go on, those whose time has passed, and a listener that
 * was stopped, so a loop needs no time limit for them. All threads that accept must then use DUO_AT_ONCE. It belongs to
 * the listener and is created by the first call, for which two descriptors are needed; -1 if the system has none left
 * (see `errno`). Never read from it. Outside of Linux it is the socket: there, also call `_accept` from time to time
 * while connections are in the handshake.
 */
int duo_listener_descriptor(duo_listener *listener);

/*
 * Called by the generated functions `_accept`: waits for a session of one protocol, for at most that many nanoseconds.
 * Slow handshakes do not delay other connections, and connections that are refused are not reported. DUO_EMPTY:
 * no session began in time. DUO_CLOSED: `duo_listener_stop` was called. Several threads may call this; they take
 * turns.
 */
DUO_MUST_CHECK duo_status duo_net_accept(duo_listener *listener, const duo_wire_protocol *protocol,
                                         duo_role role, uint64_t nanoseconds, duo_endpoint *endpoint);

/* Any function; generated functions cast it back to its real type. */
typedef void duo_handler(void);
typedef void duo_call_handler(duo_endpoint endpoint, const duo_peer *peer, duo_handler *handler,
                              void *context);

/*
 * Called by the generated functions `_serve`: sessions of this protocol are handled by `handler`, each on a thread of
 * its own. A session that the handler has neither ended nor handed over when it returns is closed. Several protocols may be served by one listener. `options` apply to this protocol (`accepts`, `largest`,
 * `memory`, `heartbeat`, `idle`, `admit`, `observer`); NULL means those of the listener. A connection that is refused
 * before its protocol is known is reported to the observer of the listener. The sessions begin with `duo_listener_run`.
 */
DUO_MUST_CHECK duo_status duo_listener_serve(duo_listener *listener, const duo_wire_protocol *protocol,
                                             duo_role role, const duo_net_options *options,
                                             duo_call_handler *call, duo_handler *handler,
                                             void *context);

/*
 * For handlers: the session goes on when the handler returns, and the new owner of the endpoint ends it. Call this before the
 * endpoint is given to another thread or added to a set that the handler does not free. An endpoint that was shared
 * (`_share`) or sent in a message counts as handed over. `endpoint` has the form `endpoint.sends` or
 * `endpoint.receives`, and is not consumed.
 */
void duo_net_hand_over(duo_endpoint endpoint);

/*
 * Accepts sessions of the protocols that are served, until another thread calls `duo_listener_stop` or
 * `duo_listener_drain`; then waits until the handlers' threads have exited, and returns DUO_OK.
 */
DUO_MUST_CHECK duo_status duo_listener_run(duo_listener *listener);

/* What a listener has to do at a moment. */
typedef struct duo_load {
    /* How many sessions count toward `duo_net_options.sessions`. */
    size_t sessions;
    /* Whether further sessions are refused because there are that many, or because the listener drains or was stopped. */
    bool is_full;
    bool is_draining;
} duo_load;

duo_load duo_listener_load(duo_listener *listener);

/* Ends `duo_listener_run` and every `_accept`, now and later. May be called by any thread, and by signal handlers. */
void duo_listener_stop(duo_listener *listener);

/*
 * The same, but first waits until all sessions are over, for at most that many nanoseconds. From then on, peers that
 * connect are informed that the listener is draining, as long as `duo_listener_run` or `_accept` runs. Sessions that
 * are not over in time are ended; a handler that uses one of them gets DUO_LOST.
 */
void duo_listener_drain(duo_listener *listener, uint64_t nanoseconds);

/*
 * Stops listening, and removes the file of a Unix socket. Sessions that have begun continue. No other thread may
 * still be using the listener.
 */
void duo_listener_close(duo_listener *listener);

#ifdef __cplusplus
}
#endif

#endif
