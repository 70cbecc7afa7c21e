/*
 * duologue/record.h: recording sessions, and stopping them. For programs, where the program, its generated code and the
 * runtime are all compiled with DUO_RECORD; if only some are, they do not link. Without DUO_RECORD nothing of this is there, and
 * sessions do not run a single instruction for it.
 *
 * What is recorded is what the side in this process does: both sides of a session within the process, one of a session with
 * another process. Recording begins with sessions that begin after `duo_record_to` or `duo_monitor_with` was called.
 */
#ifndef DUOLOGUE_RECORD_H
#define DUOLOGUE_RECORD_H

#include "duologue.h"

#ifdef DUO_RECORD

#include <stdio.h>

DUO_C_BEGINS

#ifdef __cplusplus
extern "C" {
#endif

/* What a side has done, or found. */
typedef enum duo_recorded_kind {
    /* Sent the message, or received it. */
    DUO_RECORDED_SEND,
    DUO_RECORDED_RECEIVE,
    /* Closed its endpoint. */
    DUO_RECORDED_LEFT,
    /* Found that its peer has closed the session. */
    DUO_RECORDED_PEER_LEFT,
    /* Found that the session has ended for another reason, which is the status. */
    DUO_RECORDED_ENDED
} duo_recorded_kind;

/* One event of a session. The strings are static. */
typedef struct duo_recorded {
    /* The session: no other session of this process has this number. */
    uint64_t session;
    duo_recorded_kind kind;
    /* Which side. */
    bool is_server;
    /* The state in which it happened, with the name of the protocol: `bank.connected`. */
    const char *state;
    /* The name of the message; NULL if the event has none. */
    const char *message;
    /* DUO_OK, or why the session has ended. DUO_STOPPED: a monitor did not allow a message. */
    duo_status status;
} duo_recorded;

/* Sees the events of all sessions. Its functions may be called by several threads at once; NULL: it is not called. */
typedef struct duo_monitor {
    /*
     * Whether a message may be sent, which is about to be. If not, the session is closed, and the function that sends
     * returns DUO_STOPPED. What was to be sent remains the caller's. If the message is sent through a shared sender, this is
     * called while its lock is held.
     */
    bool (*allows)(const duo_recorded *event, void *context);
    /* Called after the event. */
    void (*happened)(const duo_recorded *event, void *context);
    void *context;
} duo_monitor;

/*
 * Sets the monitor of sessions that begin from now on; NULL: none. It has to remain valid until all of them have ended. Sessions that began
 * before have no monitor from now on.
 */
void duo_monitor_with(const duo_monitor *monitor);

/*
 * Writes the names of messages to a file, as lines of JSON that `duologue trace` reads. The names of sessions begin with
 * `prefix`: logs of several processes, or of several runs of a program, need different ones if they are checked together.
 * After `most` bytes, or if the file cannot be written, nothing more is recorded. The caller closes the file after
 * `duo_record_stop`. DUO_INVALID: the prefix has more than 64 bytes, or others than letters, digits, `-`, `_` and `.`.
 */
DUO_MUST_CHECK duo_status duo_record_to(FILE *file, const char *prefix, uint64_t most);

/*
 * Ends what `duo_record_to` has begun, and writes what is buffered. No thread may use a session meanwhile. Returns how many events are
 * missing.
 */
uint64_t duo_record_stop(void);

#ifndef DUO_NO_THREADS

/* A side of a session in the registry. Only the library uses it, and what it consists of may change. */
typedef struct duo_registered_side {
    const char *state;
    /* The thread that used it last; empty if it was not used yet. */
    char owner[64];
    /* Since when it waits, in nanoseconds; 0: it does not. It waits for space, or for a message. */
    uint64_t waits;
    /* A message that waits for space is counted as sent. */
    uint64_t sent, received;
    bool has_left, is_done, for_space;
} duo_registered_side;

/* A session in the registry. Only the library uses it. */
typedef struct duo_registered {
    uint64_t number;
    const char *protocol, *state;
    bool turn_is_server;
    uint64_t since, messages;
    duo_registered_side sides[2];
} duo_registered;

/*
 * From now on the registry knows the sessions within the process that begin: their states, which threads use them, and which of those
 * wait for messages or for space. It holds about half as many sessions as `count`; those that do not fit are left out, and their uses are counted. The
 * memory has to remain valid until `duo_registry_stop`. DUO_INVALID: `count` is less than 2.
 */
DUO_MUST_CHECK duo_status duo_registry_begin(duo_registered *memory, size_t count);

/* Writes the sessions that have not ended as JSON, which `duologue top` shows. DUO_REFUSED: another thread is writing. DUO_SYSTEM: it failed. */
DUO_MUST_CHECK duo_status duo_registry_write(FILE *file);

/*
 * Names the thread that calls, in the registry: at most 31 letters, digits, spaces, `-`, `_` and `.`, otherwise DUO_INVALID. All threads
 * have a number.
 */
duo_status duo_registry_name(const char *name);

/* Ends what `duo_registry_begin` has begun. */
void duo_registry_stop(void);

#endif

#ifdef __cplusplus
}
#endif

DUO_C_ENDS

#endif

#endif
