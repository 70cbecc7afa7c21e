/*
 * Records of sessions: which are recorded, what their monitor is asked, and the lines of the log.
 *
 * A log has the events of each side in the order in which they happened, up to some point: after the first line that does not fit, no more
 * are written. So what it has of a session is the beginning of one that its protocol allows.
 */
#include "../floor/floor.h"

#ifdef DUO_RECORD

#include <inttypes.h>
#ifndef DUO_NO_THREADS
#include <sched.h>
#endif

#include "record.h"

enum { LONGEST_PREFIX = 64, LONGEST_LINE = 1024 };

static const duo_monitor *DUO_ATOMIC monitor;
/* The number of the last session that was recorded. */
static DUO_ATOMIC uint64_t last;
/*
 * Sessions up to this one began before the log, or before the monitor. BEING_SET: a thread is setting the log or the monitor. Then a new
 * session waits, so that it belongs to the log from its first message or not at all: if its number is above the one that the thread
 * reads, it was taken after that, and it finds BEING_SET or what was set.
 */
static DUO_ATOMIC uint64_t before_log, before_monitor;
#define BEING_SET UINT64_MAX
/* The log; NULL: there is none. The others are set before it. */
static FILE *DUO_ATOMIC log_file;
static char log_prefix[LONGEST_PREFIX + 1];
static uint64_t log_most;
static DUO_ATOMIC uint64_t log_size, log_dropped;
static DUO_ATOMIC bool log_is_full;

void duo_monitor_with(const duo_monitor *with)
{
    duo_atomic_store(&before_monitor, BEING_SET, memory_order_seq_cst);
    uint64_t older = duo_atomic_load(&last, memory_order_seq_cst);
    duo_atomic_store(&monitor, with, memory_order_release);
    duo_atomic_store(&before_monitor, older, memory_order_release);
}

/* Whether every byte of a prefix may be in a string of JSON as it is. */
static bool is_prefix(const char *prefix)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t size = strlen(prefix);
    return size <= LONGEST_PREFIX && strspn(prefix, allowed) == size;
}

duo_status duo_record_to(FILE *file, const char *prefix, uint64_t most)
{
    if (!is_prefix(prefix)) return DUO_INVALID;
    memcpy(log_prefix, prefix, strlen(prefix) + 1);
    log_most = most;
    duo_atomic_store(&log_size, 0, memory_order_relaxed);
    duo_atomic_store(&log_dropped, 0, memory_order_relaxed);
    duo_atomic_store(&log_is_full, false, memory_order_relaxed);
    duo_atomic_store(&before_log, BEING_SET, memory_order_seq_cst);
    uint64_t older = duo_atomic_load(&last, memory_order_seq_cst);
    duo_atomic_store(&log_file, file, memory_order_release);
    duo_atomic_store(&before_log, older, memory_order_release);
    return DUO_OK;
}

uint64_t duo_record_stop(void)
{
    FILE *file = duo_atomic_exchange(&log_file, NULL, memory_order_acq_rel);
    if (file != NULL && fflush(file) != 0) duo_atomic_fetch_add(&log_dropped, 1, memory_order_relaxed);
    return duo_atomic_load(&log_dropped, memory_order_relaxed);
}

/* Until no thread is setting this. */
static void wait_until_set(DUO_ATOMIC uint64_t *before)
{
    while (duo_atomic_load(before, memory_order_seq_cst) == BEING_SET) {
#ifndef DUO_NO_THREADS
        sched_yield();
#endif
    }
}

void duo_record_begin(duo_session *session)
{
    bool is_recorded = duo_atomic_load(&monitor, memory_order_relaxed) != NULL ||
                       duo_atomic_load(&log_file, memory_order_relaxed) != NULL || duo_registry_is_on();
    uint64_t number = is_recorded ? duo_atomic_fetch_add(&last, 1, memory_order_seq_cst) + 1 : 0;
    if (is_recorded) {
        wait_until_set(&before_log);
        wait_until_set(&before_monitor);
    }
    duo_atomic_store(&session->signals[0].number, number, memory_order_relaxed);
}

bool duo_record_of(duo_recorded *event, duo_endpoint endpoint)
{
    if (endpoint.session == NULL) return false;
    memset(event, 0, sizeof *event);
    /* If the endpoint is used, this may be the number of another session. Then nothing happens, and nothing is recorded. */
    event->session = duo_atomic_load(&endpoint.session->signals[0].number, memory_order_relaxed);
    event->is_server = (endpoint.turn & 1) == DUO_SERVER;
    return event->session != 0;
}

/* The monitor of a session; NULL if it has none. */
static const duo_monitor *monitor_of(const duo_recorded *event)
{
    const duo_monitor *with = duo_atomic_load(&monitor, memory_order_acquire);
    bool is_older = event->session <= duo_atomic_load(&before_monitor, memory_order_relaxed);
    return is_older ? NULL : with;
}

bool duo_record_allows(const duo_recorded *event)
{
    const duo_monitor *with = monitor_of(event);
    return with == NULL || with->allows == NULL || with->allows(event, with->context);
}

/* The line of an event; returns its size, or 0 if it is too long. */
static size_t line_of(char *line, const duo_recorded *event)
{
    const char *at = event->is_server ? "server" : "client", *peer = event->is_server ? "client" : "server";
    const char *dot = strrchr(event->state, '.');
    int protocol = dot == NULL ? 0 : (int)(dot - event->state);
    int head = snprintf(line, LONGEST_LINE, "{\"session\":\"%s%" PRIu64 "\",\"protocol\":\"%.*s\",\"at\":\"%s\"",
                        log_prefix, event->session, protocol, event->state, at);
    if (head < 0 || head >= LONGEST_LINE) return 0;
    char *rest = line + head;
    size_t space = (size_t)(LONGEST_LINE - head);
    int tail = 0;
    switch (event->kind) {
    case DUO_RECORDED_SEND:
    case DUO_RECORDED_RECEIVE:
        tail = snprintf(rest, space, ",\"kind\":\"%s\",\"message\":\"%s\"}\n",
                        event->kind == DUO_RECORDED_SEND ? "send" : "receive", event->message);
        break;
    case DUO_RECORDED_LEFT:
        tail = snprintf(rest, space, ",\"kind\":\"left\"%s}\n",
                        event->status == DUO_STOPPED ? ",\"why\":\"a monitor did not allow a message\"" : "");
        break;
    case DUO_RECORDED_PEER_LEFT: tail = snprintf(rest, space, ",\"from\":\"%s\",\"kind\":\"left\"}\n", peer); break;
    case DUO_RECORDED_ENDED:
        tail = snprintf(rest, space, ",\"kind\":\"ended\",\"why\":\"%s\"}\n", duo_status_text(event->status));
        break;
    }
    return tail < 0 || (size_t)tail >= space ? 0 : (size_t)(head + tail);
}

/* Writes a line, unless an earlier one did not fit. The C library writes it as a whole. */
static void write_line(FILE *file, const duo_recorded *event)
{
    char line[LONGEST_LINE];
    size_t size = line_of(line, event);
    bool fits = size > 0 && !duo_atomic_load(&log_is_full, memory_order_relaxed) &&
                duo_atomic_fetch_add(&log_size, size, memory_order_relaxed) + size <= log_most &&
                fwrite(line, 1, size, file) == size;
    if (fits) return;
    duo_atomic_store(&log_is_full, true, memory_order_relaxed);
    duo_atomic_fetch_add(&log_dropped, 1, memory_order_relaxed);
}

void duo_record_event(const duo_recorded *event)
{
    if (event->kind != DUO_RECORDED_SEND && event->kind != DUO_RECORDED_RECEIVE) duo_registry_leaves(event);
    FILE *file = duo_atomic_load(&log_file, memory_order_acquire);
    if (file != NULL && event->session > duo_atomic_load(&before_log, memory_order_relaxed)) write_line(file, event);
    const duo_monitor *with = monitor_of(event);
    if (with != NULL && with->happened != NULL) with->happened(event, with->context);
}

#endif
