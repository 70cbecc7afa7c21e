/*
 * Sessions over byte streams. docs/wire.md defines the bytes; this comment says which thread may access what.
 *
 * (a) A session belongs to the thread that has claimed its endpoint. Three other threads may access it in the meantime:
 *     the thread that writes what was collected and checks time limits (writer.c), one that waits on a set that
 *     contains the endpoint (transport.c), and one that drains its listener. So everything in `duo_net` is accessed
 *     under its `lock`, which no thread holds while it sleeps. A set keeps a session only while its endpoint is not
 *     claimed: see link/session.c and `unwatch`.
 * (b) Locks are taken in this order: the list of a set (transport.c), a session, the list of the writer (writer.c),
 *     a gate. The writer holds its list while it goes through the sessions, so it only tries to lock them, and tries
 *     again later if that fails.
 * (c) What is sent is encoded into `out` at once. The thread that empties it writes whole frames in order; what the
 *     system does not accept stays there and is left to the writer. A sender waits only while DUO_NET_FULL bytes or more
 *     are there, so a message is either completely in `out`, or its sender knows that nothing of it was sent.
 * (d) Nothing that arrives is trusted. A frame's tag and size are checked against the state, the message's bounds and
 *     this side's limits before memory is allocated for it, and memory grows with what has arrived. Payloads are
 *     checked by `duo_wire_check` before they are decoded.
 * (e) The writer reads a connection only once the time of the session's state has passed. A thread that sleeps until
 *     something arrives wakes by then (`duo_net_patient_until`), so it does not miss what the writer has read.
 * (f) A session is over when its descriptor is closed. Before that, `shutdown` notifies the peer, because another
 *     thread that polls the descriptor keeps the connection open.
 * (g) Code in the header sends and receives numbers of a run without the lock: operations.c says why that is correct.
 */
#ifndef DUOLOGUE_NET_SESSION_H
#define DUOLOGUE_NET_SESSION_H

#include <pthread.h>
#include <stddef.h>

#include "duologue/net.h"
#include "../transport/system.h"
#include "../floor/tag.h"
#include "../link/transport.h"
#include "../wire/wire.h"

/*
 * The locks of the process, in the order in which a thread may take them: that of the watches, of the writer's list, of the
 * pool (DUO_POOL_PRIORITY); a session's lock comes after that of the watches and before the others. A fork takes all three,
 * and the handlers that do so run in reverse order of the priorities with which they are registered.
 */
#define DUO_NET_WRITER_PRIORITY (DUO_POOL_PRIORITY + 1)
#define DUO_NET_WATCH_PRIORITY (DUO_POOL_PRIORITY + 2)

/* How long connecting and the handshake may take, in nanoseconds. */
#define DUO_NET_HELLO UINT64_C(5000000000)

/* How long a session keeps buffers that have grown, in nanoseconds: growing again costs little in this time. */
#define DUO_NET_SHRINKS_AFTER UINT64_C(1000000000)

/* How long a session that is over keeps its last bytes while the connection accepts none of them, in nanoseconds. */
#define DUO_NET_LINGER UINT64_C(5000000000)

enum {
    /* A sender waits while this many bytes or more have not been written. */
    DUO_NET_FULL = 65536,
    /* Hello and answer, and the parts of them. */
    DUO_NET_HEAD = 12,
    DUO_NET_LEAST_HELLO = 28,
    DUO_NET_MOST_HELLO = 1024,
    DUO_NET_MOST_HELLO_WITH_TOKEN = 4096,
    DUO_NET_ANSWER = 26,
    DUO_NET_REFUSAL = 4,
    DUO_NET_TRACE = 25,
    DUO_NET_MOST_ACCEPTS = 16,
    DUO_NET_LEAST_LARGEST = 1024,
    DUO_NET_VERSION = 1,
    /* The least space for a read. */
    DUO_NET_LEAST_READ = 4096,
    /* The most numbers of a lane, the size of the frame of each, and the space for their frames in `out`. */
    DUO_NET_NUMBERS = 127,
    DUO_NET_FRAME = 1 + 8,
    DUO_NET_RESERVED = 2048
};

/* The first two bytes of control frames: 0, and what the frame says. */
enum { DUO_NET_CONTROL = 0, DUO_NET_ALIVE = 1, DUO_NET_LEAVE = 3, DUO_NET_DRAIN = 4 };

/* Why a side ends a session, as encoded in the *leave* frame. */
typedef enum duo_net_leave {
    DUO_NET_LEFT = 0,
    DUO_NET_BROKE = 1,
    DUO_NET_WAS_LATE = 2,
    DUO_NET_WAS_TOO_LARGE = 3,
    DUO_NET_SILENT
} duo_net_leave;

/* Bytes from `from` to `end`. */
typedef struct duo_net_buffer {
    char *bytes;
    size_t from;
    size_t end;
    size_t capacity;
    /* Keeps space for DUO_NET_RESERVED bytes even if it is empty. */
    bool is_reserved;
} duo_net_buffer;

static inline size_t duo_net_size(const duo_net_buffer *buffer)
{
    return buffer->end - buffer->from;
}

/* How many connections a peer of a listener has: see gate.c. */
typedef struct duo_net_place duo_net_place;

enum { DUO_NET_PLACES = 256 };

/* What the sessions of a listener share with it. Freed by the last of them. */
typedef struct duo_net_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Only if the connections of each peer are limited. */
    duo_net_place *places[DUO_NET_PLACES];
    size_t holders;
    size_t sessions;
    size_t handlers;
    /* The thread of the handler that ended last, if it was not joined yet. */
    bool has_ended;
    pthread_t ended;
    /* A drain has ended its sessions; one that joins later is ended at once. */
    bool is_cut;
    struct duo_net *first;
} duo_net_gate;

/* A session that has a handler, after which it is closed: see listen/serve.c. */
typedef struct duo_net_handled {
    bool is_over;
} duo_net_handled;

/* What an observed session has counted. */
typedef struct duo_net_observed duo_net_observed;

/* What the program has found out about a peer: see session.c. */
typedef struct duo_net_value duo_net_value;

typedef struct duo_net {
    duo_remote remote;
    const duo_wire_protocol *protocol;
    /* The state that comes next. */
    const duo_state *state;
    pthread_mutex_t lock;
    duo_net_stream stream;
    /* This side has accepted the connection. */
    bool accepted;
    /* Something was written since this side last read: what it waits for can hardly have arrived yet. */
    bool has_written;
    bool cannot_write;
    bool cannot_read;
    /* The owner waits in a read, without the lock: until it is back, no other thread reads, or changes the buffer `in`. */
    bool is_reading;
    /* Why the peer has ended the session; DUO_OK if it has not. */
    duo_status ended;
    duo_net_buffer out;
    duo_net_buffer in;
    /* The largest payload that the peer accepts, and that this side does. */
    uint32_t peer_takes;
    uint32_t takes;
    /* How much memory a message that it receives may take. */
    size_t memory;
    /*
     * For the writer: whether the session is on a list, the pointer that points to it there, the next session, when to
     * write, when to give up. They are written under the lock of the lists, and the two pointers are read only under it.
     */
    bool is_listed;
    struct duo_net **listed_by;
    struct duo_net *next_listed;
    uint64_t due;
    uint64_t lingers_until;
    /* When the writer returns the memory of its buffers; 0 if they are small. */
    uint64_t shrinks_at;
    bool lingers;
    /* The owner ends the session, and nothing is to be sent after its last frame. */
    bool is_over;
    /* How many reads have been made after `late_at` without a complete message. */
    unsigned late_reads;
    /*
     * Heartbeats, in nanoseconds; 0 means none. This side writes something before it has been silent for `beat`, and
     * considers the peer lost once it has read nothing for `patience`. The times of its last write and read are kept only
     * if they matter.
     */
    uint64_t beat;
    uint64_t patience;
    uint64_t written_at;
    uint64_t read_at;
    /*
     * The time limit of the state: whether it is the peer's turn, and when the time has passed, or 0 if there is no limit or
     * the time has not begun.
     */
    bool receives;
    uint64_t late_at;
    /* The limit of states that have none of their own, where it is the peer's turn; 0 means none. */
    uint64_t idle;
    /*
     * If the connection accepts nothing, and there is such a limit: by when the first `to_write` bytes of `out` have to be
     * written. Otherwise 0.
     */
    uint64_t written_by;
    size_t to_write;
    /* In a set: its watch, the same two pointers for its list, which side this is, and what it waits for. */
    duo_watch *watch;
    struct duo_net **watched_by;
    struct duo_net *next_watched;
    unsigned role;
    bool asks_writable;
    /* For its listener: the gate, and the same two pointers for its list. */
    duo_net_gate *gate;
    /* Of its peer, or NULL. */
    duo_net_place *place;
    struct duo_net **gated_by;
    struct duo_net *next_gated;
    /* NULL if nobody observes. Accessed without the lock, by the thread that has claimed the endpoint. */
    duo_net_observed *observed;
    /* NULL if there is none. Removed by the thread that ends the session. */
    duo_net_value *value;
    /* While its handler runs; otherwise NULL. */
    duo_net_handled *handled;
    /* The message of the numbers that the header sends, or NULL, and how many of them are in `out`. */
    const duo_message *sends;
    size_t settled;
    /* How many such messages were sent one after another, without the writer having found nothing new. */
    unsigned alike;
    /* The writer visits the session a few milliseconds from now at the latest. */
    bool is_collected;
    /* The message of the numbers that have arrived, how many there were, and those left that no lane has. */
    const duo_message *receives_of;
    size_t arrived;
    size_t unread;
    /* Twice the number of those that were sent; whether the sender has to call the library after the next one. */
    alignas(8) DUO_ATOMIC uint64_t counted;
    DUO_ATOMIC uint32_t asleep;
    /* How much the next read asks for. */
    uint32_t reads;
    /* DUO_NET_NUMBERS of 8 bytes each; NULL until it is needed. */
    char *numbers;
} duo_net;

extern const duo_transport duo_net_transport;

/* When the time of the state or that for writing has passed; DUO_FOREVER if neither has begun. */
static inline uint64_t duo_net_limit(const duo_net *net)
{
    uint64_t limit = net->late_at != 0 ? net->late_at : DUO_FOREVER;
    return net->written_by != 0 && net->written_by < limit ? net->written_by : limit;
}

static inline duo_net *duo_net_of(duo_endpoint endpoint)
{
    return (duo_net *)(void *)endpoint.session;
}

/* connection.c: all under the session's lock. */
/* Makes space for more bytes after the end; false if memory ran out. */
bool duo_net_reserve(duo_net_buffer *buffer, size_t more);
/* Appends bytes for which there is space. */
void duo_net_append(duo_net_buffer *buffer, const void *bytes, size_t size);
/* Removes the first `size` bytes. */
void duo_net_drop(duo_net_buffer *buffer, size_t size);
void duo_net_forget(duo_net_buffer *buffer);
/* Whether it is larger than an idle session needs. */
bool duo_net_is_large(const duo_net_buffer *buffer);
/* Returns its memory if it is empty and large; whether it is still large. */
bool duo_net_shrink(duo_net_buffer *buffer);

/* Enters the state that follows a message, and begins its time. */
void duo_net_enter_state(duo_net *net, const duo_message *message);
/* How long the state may last, in nanoseconds; 0 without a limit. */
uint64_t duo_net_within(const duo_net *net);
/* Begins the time of the state, if it has a limit and everything sent before is written. */
void duo_net_begin_time(duo_net *net);
/* The earlier one of `until` and the time until which the peer may be silent, or may take. */
uint64_t duo_net_patient_until(const duo_net *net, uint64_t until);

/* Moves numbers that the header has sent to `out`; whether there were any. */
bool duo_net_settle(duo_net *net);
/* As sender: from here on every message goes through the library. */
void duo_net_end_lane(duo_net *net);
/* For the writer, which has found nothing new. False: there is something, after all. */
bool duo_net_let_sleep(duo_net *net);
/* Writes as much as the system takes; false if some is left, or nothing can be written any more. */
bool duo_net_write(duo_net *net);

/* A message that has arrived completely. */
typedef struct duo_net_frame {
    unsigned tag;
    /* How many bytes are before the payload, and in it. */
    size_t head;
    size_t size;
} duo_net_frame;
/*
 * Handles control frames and finds the message after them. DUO_EMPTY if it is not complete: `needed` more bytes are
 * missing at least. Otherwise why the session is over. `state` is NULL for a side that sends.
 */
duo_status duo_net_front(duo_net *net, const duo_state *state, duo_net_frame *frame, size_t *needed);
/* Reads what has arrived, or the end of the connection. DUO_EMPTY if there is neither; DUO_NO_MEMORY. */
duo_status duo_net_read(duo_net *net, size_t needed);
/* Sleeps in the read itself; DUO_EMPTY if nothing was read after all. Whether a thread that waits until then can do so. */
duo_status duo_net_read_patiently(duo_net *net, size_t needed);
bool duo_net_can_read_patiently(const duo_net *net, uint64_t wakes);
/* For a side whose connection no longer accepts anything: why the session ended, according to the peer's last frames. */
duo_status duo_net_last_word(duo_net *net);

/* listen/hello.c */
typedef struct duo_net_hello {
    bool receives_first;
    uint32_t largest;
    uint16_t heartbeat;
    duo_fingerprint fingerprint;
    duo_str name;
    duo_fingerprint accepts[DUO_NET_MOST_ACCEPTS];
    size_t accepts_count;
    /* Empty if there is none. */
    duo_bytes trace;
    duo_bytes token;
    bool has_token;
} duo_net_hello;

typedef struct duo_net_answer {
    unsigned verdict;
    /* Of a verdict below 16. */
    duo_fingerprint fingerprint;
    uint32_t largest;
    uint16_t heartbeat;
    /* Of the others. */
    uint32_t wait;
} duo_net_answer;

/* What is found at the beginning of a connection. */
typedef enum duo_net_found { DUO_NET_GOOD, DUO_NET_MORE, DUO_NET_ALIEN, DUO_NET_BAD_VERSION, DUO_NET_MALFORMED } duo_net_found;
/* Checks the first `size` bytes of a hello; `whole` is set to how many it has, as far as that is known. */
duo_net_found duo_net_check_head(const uint8_t *bytes, size_t size, size_t *whole);
/* Reads a whole hello whose head was checked. Its texts point into the bytes. False: malformed. */
bool duo_net_read_hello(const uint8_t *bytes, size_t size, duo_net_hello *hello);
/* Writes it and returns its size, at most DUO_NET_HEAD + DUO_NET_MOST_HELLO_WITH_TOKEN; 0 if it does not fit. */
size_t duo_net_write_hello(uint8_t *bytes, const duo_net_hello *hello);
size_t duo_net_write_answer(uint8_t *bytes, const duo_net_answer *answer);
/* Reads an answer, or only its head if `size` is DUO_NET_HEAD. False: this is not one. */
bool duo_net_read_answer(const uint8_t *bytes, size_t size, duo_net_answer *answer);

/* listen/accept.c */
/* A protocol that the accepting side serves. */
typedef struct duo_net_offer {
    const duo_wire_protocol *protocol;
    duo_role role;
    duo_net_options options;
    duo_call_handler *call;
    duo_handler *handler;
    void *context;
    /* Called with `context`, by any thread and perhaps more than once, when the listener drains or stops; NULL if not needed. */
    void (*drain)(void *context);
} duo_net_offer;
/* Decides about a hello; sets the offer if a session begins. */
unsigned duo_net_judge(const duo_net_hello *hello, const duo_net_offer *offers, size_t count,
                       const duo_net_offer **offer);

/* session.c */
/* What the peer has announced: the largest payload that it accepts, and its heartbeat in seconds; and for observers. */
typedef struct duo_net_terms {
    uint32_t largest;
    uint16_t heartbeat;
    duo_fingerprint fingerprint;
    bool is_older;
    /* NULL or empty if there is none. */
    const char *address;
} duo_net_terms;
/* Begins a session on a connection whose handshake is over; NULL if memory ran out. */
duo_net *duo_net_begin(const duo_net_stream *stream, bool accepted, const duo_wire_protocol *protocol, duo_role role,
                       const duo_net_options *options, const duo_net_terms *terms, duo_endpoint *endpoint);
uint32_t duo_net_largest(const duo_net_options *options);
/* The last step of the end of a session, once everything is written or given up: closes the connection. */
void duo_net_finish(duo_net *net);
/* Not under a lock: asks the program whether it admits a peer, and for its value. DUO_REFUSED, DUO_NO_MEMORY. */
duo_status duo_net_ask(const duo_net_options *options, const duo_peer *peer, duo_net_value **value);
/* NULL for NULL. */
void *duo_net_content(const duo_net_value *value);
/* One more holder, and one less; the last one releases the value. `value` may be NULL. */
duo_net_value *duo_net_hold(duo_net_value *value);
void duo_net_drop_value(duo_net_value *value);

/* gate.c */
/* Joins the sessions of a listener. Returns whether the session has to be ended at once. */
bool duo_net_enter(duo_net *net, duo_net_gate *gate);
void duo_net_let_go(duo_net_gate *gate);
/* Leaves them, if it has joined. */
void duo_net_leave_gate(duo_net *net);
/* Counts a connection of the peer of this socket; NULL if that peer has as many as it may have, or memory ran out. */
duo_net_place *duo_net_take_place(duo_net_gate *gate, int descriptor, size_t most);
/* Under the gate's lock. `place` may be NULL. */
void duo_net_leave_place(duo_net_gate *gate, duo_net_place *place);
/* The user at the other end of a Unix socket; false if this is another socket, or the system does not know. */
bool duo_net_find_user(int descriptor, uint32_t *user);

/* observe.c: nothing there is called under a lock, or without an observer. */
/* Allocates what a session counts; NULL if memory ran out. */
duo_net_observed *duo_net_observe(const duo_observer *observer, bool accepted, const duo_wire_protocol *protocol,
                                  duo_role role, const duo_net_terms *terms);
void duo_net_report_begin(duo_net *net);
/* Counts a message, before `state` is the one after it. May be called under the session's lock: it calls no observer. */
void duo_net_note(duo_net *net, bool sent, const duo_message *message, size_t bytes);
/* Reports the run that the last message has ended, if it has ended one. */
void duo_net_report_turn(duo_net *net);
/*
 * Reports the same, and the end, and frees what was counted. `status` is why the session has ended if it is not over;
 * `is_unwritten` says that nothing more can be written.
 */
void duo_net_report_end(duo_net *net, duo_status status, bool is_unwritten);
/* Reports that a session did not begin; sets `cause`, with the text of the problem if there is one. Keeps `errno`. */
void duo_net_report_refusal(const duo_observer *observer, duo_observed_refusal refusal, const duo_problem *problem);

/* writer.c */
/* Lets the writer write what was collected at that time; under the session's lock. False if there is no writer. */
bool duo_net_write_later(duo_net *net, uint64_t due);
/* Removes the session from the writer's list. */
void duo_net_not_later(duo_net *net);
/* Lets the writer write what was added to a run, in a few milliseconds. False if there is no writer. */
bool duo_net_collect(duo_net *net);
/*
 * Begins the heartbeats of a session, if it has any, and the time of its first state: called once its hello or answer is
 * written, or about to be.
 */
void duo_net_start_clocks(duo_net *net);

/* operations.c */
/*
 * Ends a session and releases its lock: notifies the peer unless `leave` is DUO_NET_SILENT, and writes what was sent
 * before. Returns `status`. `next` may be NULL.
 */
duo_status duo_net_end(duo_net *net, duo_net_leave leave, duo_status status, duo_endpoint *next);
/*
 * Ends a session that may be in use: under the gate's lock, for which the end of a session waits, or before its
 * endpoint has been handed out.
 */
void duo_net_cut(duo_net *net);
/* The reason that the peer gets for a session that ends with this status. */
duo_net_leave duo_net_leave_of(const duo_net *net, duo_status status);

/* DUO_OK, DUO_FULL if too much has not been written, or why the session is over. */
duo_status duo_net_check_sender(duo_net *net);
duo_status duo_net_send(duo_endpoint from, const duo_message *message, const void *entries,
                        uint64_t wait, duo_endpoint *next);

/* Whether a message of the current state is complete, without waiting: DUO_EMPTY if not. */
duo_status duo_net_check_receiver(duo_net *net);
duo_status duo_net_recv(duo_endpoint from, const duo_state *state, uint64_t wait, void *message);

/* As receiver, before the library uses the endpoint of this turn: what the header has not received is in `unread`. */
void duo_net_keep_unread(duo_net *net, uint64_t turn);
void duo_net_lane_go_on(duo_endpoint next);
duo_status duo_net_answer_peer(duo_endpoint next, uint32_t flags);

#endif
