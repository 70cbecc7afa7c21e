/* With DUO_RECORD: what programs call instead of the functions of session.c, which it records. */
#include "link.h"

#ifdef DUO_RECORD

#include "../record/record.h"
#include "../ring/ring.h"
#include "../floor/tag.h"
#include "transport.h"

/* The names by which programs call the functions of this file. */
#define duo_recorded_send duo_send
#define duo_recorded_recv duo_recv
#define duo_recorded_close duo_close

/* Records how an operation has ended that was neither sent nor received; most leave the session as it is. */
static void record_failure(duo_recorded *event, duo_status status, bool is_kept)
{
    switch (status) {
    case DUO_CLOSED: event->kind = DUO_RECORDED_PEER_LEFT; break;
    case DUO_BROKEN:
    case DUO_LOST:
    case DUO_LATE: event->kind = DUO_RECORDED_ENDED; break;
    case DUO_TOO_LARGE:
        /* A sender keeps its endpoint, unless it is the peer who says that a message was too large. */
        if (event->kind == DUO_RECORDED_SEND && is_kept) return;
        event->kind = DUO_RECORDED_ENDED;
        break;
    case DUO_OK:
    case DUO_USED:
    case DUO_FULL:
    case DUO_EMPTY:
    case DUO_NO_MEMORY:
    case DUO_REFUSED:
    case DUO_SYSTEM:
    case DUO_INVALID:
    case DUO_ADDRESS:
    case DUO_CERTIFICATES:
    case DUO_TLS:
    case DUO_STOPPED: return;
    }
    event->message = NULL;
    event->status = status;
    duo_record_event(event);
}

duo_status duo_recorded_send(duo_endpoint from, const duo_message *message, const void *entries, uint64_t wait,
                             duo_endpoint *next)
{
    duo_recorded event;
    if (message->name == NULL || message->in->name == NULL || !duo_record_of(&event, from))
        return duo_send_unrecorded(from, message, entries, wait, next);
    event.kind = DUO_RECORDED_SEND;
    event.state = message->in->name;
    event.message = message->name;
    if (!duo_record_allows(&event)) {
        duo_status closed = duo_close_unrecorded(from, message->in);
        if (closed != DUO_OK) return closed;
        event.kind = DUO_RECORDED_LEFT;
        event.status = DUO_STOPPED;
        duo_record_event(&event);
        if (next != NULL) memset(next, 0, sizeof *next);
        return DUO_STOPPED;
    }
    /* Only sessions within the process have both sides here. Before the peer can report that it has the message. */
    bool is_registered = duo_registry_is_on() && !duo_is_remote(from) && duo_check_handle(from) != NULL;
    if (is_registered) duo_registry_sends(&event, message);
    duo_status status = duo_send_unrecorded(from, message, entries, is_registered ? DUO_AT_ONCE : wait, next);
    if (is_registered && status == DUO_FULL && wait != DUO_AT_ONCE) {
        duo_registry_waits_to_send(&event, message);
        status = duo_send_unrecorded(from, message, entries, wait, next);
        if (status == DUO_OK) duo_registry_has_sent(&event, message);
    }
    if (status == DUO_OK) {
        duo_record_event(&event);
        return DUO_OK;
    }
    if (is_registered) duo_registry_takes_back(&event, message);
    record_failure(&event, status, duo_check_handle(from) != NULL);
    return status;
}

/* Receives within the process, and reports to the registry if that has to wait. */
static duo_status recv_registered(const duo_recorded *event, duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
    duo_status status = duo_recv_unrecorded(from, state, 0, message);
    if (status == DUO_EMPTY && wait != 0) {
        duo_registry_waits(event, state);
        status = duo_recv_unrecorded(from, state, wait, message);
        if (status != DUO_OK) duo_registry_stops_waiting(event);
    }
    if (status == DUO_OK) duo_registry_receives(event, &state->messages[tag_at(message, state->tag_size) - 1]);
    return status;
}

duo_status duo_recorded_recv(duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
    duo_recorded event;
    if (state->name == NULL || !duo_record_of(&event, from)) return duo_recv_unrecorded(from, state, wait, message);
    event.kind = DUO_RECORDED_RECEIVE;
    event.state = state->name;
    duo_status status = duo_registry_is_on() && !duo_is_remote(from)
                            ? recv_registered(&event, from, state, wait, message)
                            : duo_recv_unrecorded(from, state, wait, message);
    if (status == DUO_OK) {
        event.message = state->messages[tag_at(message, state->tag_size) - 1].name;
        if (event.message != NULL) duo_record_event(&event);
    } else record_failure(&event, status, false);
    return status;
}

duo_status duo_recorded_close(duo_endpoint endpoint, const duo_state *state)
{
    duo_recorded event;
    if (state->name == NULL || !duo_record_of(&event, endpoint)) return duo_close_unrecorded(endpoint, state);
    event.kind = DUO_RECORDED_LEFT;
    event.state = state->name;
    duo_status status = duo_close_unrecorded(endpoint, state);
    if (status == DUO_OK) duo_record_event(&event);
    return status;
}

#endif
