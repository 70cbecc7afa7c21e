/*
 * The registry: which sessions have not ended, what their sides wait for, and which threads use them. recorded.c reports that.
 *
 * A session has an entry from its first use until both sides are done with it. Entries are in the caller's memory, each in one of the
 * places that follow from its number, so that a search is short. A lock is held for each event, and while all entries are copied, so what is
 * written was true at one moment.
 */
#define _GNU_SOURCE
#include "../floor/floor.h"

#ifdef DUO_RECORD
#ifndef DUO_NO_THREADS

#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

#include "record.h"

/* How many places are searched for a session. */
enum { PLACES = 16, LONGEST_NAME = 31 };

static DUO_ATOMIC bool is_locked, is_writing;
/* NULL: there is no registry. The others are set before it, and the registered after these are for copies. */
static duo_registered *DUO_ATOMIC registered;
static size_t registered_most;
static DUO_ATOMIC uint64_t registered_missing;
/* The number of the last thread that has one. */
static DUO_ATOMIC uint64_t registered_threads;
static DUO_EACH_THREAD char thread_text[sizeof ((duo_registered *)0)->sides[0].owner];
static DUO_EACH_THREAD uint64_t thread_number;

static void lock_registry(void)
{
    while (duo_atomic_exchange(&is_locked, true, memory_order_acquire)) sched_yield();
}

static void unlock_registry(void)
{
    duo_atomic_store(&is_locked, false, memory_order_release);
}

static void name_thread(const char *name)
{
    if (thread_number == 0) thread_number = duo_atomic_fetch_add(&registered_threads, 1, memory_order_relaxed) + 1;
    snprintf(thread_text, sizeof thread_text, "thread%s%s #%" PRIu64, *name == 0 ? "" : " ", name, thread_number);
}

static const char *thread_name(void)
{
    if (thread_number == 0) name_thread("");
    return thread_text;
}

duo_status duo_registry_name(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_. ";
    size_t size = strlen(name);
    if (size > LONGEST_NAME || strspn(name, allowed) != size) return DUO_INVALID;
    name_thread(name);
    return DUO_OK;
}

/* A thread that writes reads the copies without the lock, so what they are in does not change meanwhile. */
static void wait_to_write(void)
{
    while (duo_atomic_exchange(&is_writing, true, memory_order_acquire)) sched_yield();
}

duo_status duo_registry_begin(duo_registered *memory, size_t count)
{
    if (count < 2) return DUO_INVALID;
    wait_to_write();
    lock_registry();
    memset(memory, 0, count * sizeof *memory);
    registered_most = count / 2;
    duo_atomic_store(&registered_missing, 0, memory_order_relaxed);
    duo_atomic_store(&registered, memory, memory_order_release);
    unlock_registry();
    duo_atomic_store(&is_writing, false, memory_order_release);
    return DUO_OK;
}

void duo_registry_stop(void)
{
    wait_to_write();
    lock_registry();
    duo_atomic_store(&registered, NULL, memory_order_release);
    unlock_registry();
    duo_atomic_store(&is_writing, false, memory_order_release);
}

bool duo_registry_is_on(void)
{
    return duo_atomic_load(&registered, memory_order_relaxed) != NULL;
}

/* The entry of a session. The lock is held. NULL: it has none, and either `state` is NULL or no place is free. */
static duo_registered *find_entry(const duo_recorded *event, const duo_state *state)
{
    duo_registered *all = duo_atomic_load(&registered, memory_order_acquire), *free_one = NULL;
    if (all == NULL) return NULL;
    size_t places = registered_most < PLACES ? registered_most : PLACES;
    for (size_t step = 0; step < places; step++) {
        duo_registered *one = &all[(event->session + step) % registered_most];
        if (one->number == event->session) return one;
        if (one->number == 0 && free_one == NULL) free_one = one;
    }
    if (state == NULL) return NULL;
    if (free_one == NULL) {
        duo_atomic_fetch_add(&registered_missing, 1, memory_order_relaxed);
        return NULL;
    }
    memset(free_one, 0, sizeof *free_one);
    free_one->number = event->session;
    free_one->protocol = state->name;
    free_one->state = state->name;
    free_one->turn_is_server = state->sender == DUO_SERVER;
    free_one->since = duo_now();
    free_one->sides[0].state = free_one->sides[1].state = state->name;
    return free_one;
}

/* The same for a thread that does not hold the lock, and then does if there is an entry. */
static duo_registered *lock_entry(const duo_recorded *event, const duo_state *state)
{
    if (!duo_registry_is_on()) return NULL;
    lock_registry();
    duo_registered *entry = find_entry(event, state);
    if (entry == NULL) unlock_registry();
    return entry;
}

/* The side of an event. */
static duo_registered_side *side_of(duo_registered *entry, const duo_recorded *event)
{
    return &entry->sides[event->is_server];
}

/* The thread that calls uses the side, which is in this state; NULL: the session is over for it. */
static void pass(duo_registered *entry, const duo_recorded *event, const duo_state *next)
{
    duo_registered_side *side = side_of(entry, event);
    memcpy(side->owner, thread_name(), sizeof side->owner);
    side->state = next == NULL ? NULL : next->name;
    side->is_done = next == NULL;
    side->waits = 0;
    side->for_space = false;
    if (entry->sides[0].is_done && entry->sides[1].is_done) entry->number = 0;
}

static const duo_state *state_after(const duo_message *message)
{
    return message->edge == DUO_END ? NULL : message->next;
}

/* The session is in this state. */
static void move_to(duo_registered *entry, const duo_state *state)
{
    entry->state = state == NULL ? NULL : state->name;
    if (state != NULL) entry->turn_is_server = state->sender == DUO_SERVER;
}

void duo_registry_sends(const duo_recorded *event, const duo_message *message)
{
    duo_registered *entry = lock_entry(event, message->in);
    if (entry == NULL) return;
    const duo_state *next = state_after(message);
    side_of(entry, event)->sent++;
    entry->messages++;
    move_to(entry, next);
    entry->since = duo_now();
    pass(entry, event, next);
    unlock_registry();
}

void duo_registry_takes_back(const duo_recorded *event, const duo_message *message)
{
    duo_registered *entry = lock_entry(event, NULL);
    if (entry == NULL) return;
    duo_registered_side *side = side_of(entry, event);
    /* The entry may be younger than the message. */
    if (side->sent > 0) side->sent--;
    if (entry->messages > 0) entry->messages--;
    move_to(entry, message->in);
    pass(entry, event, message->in);
    unlock_registry();
}

void duo_registry_waits(const duo_recorded *event, const duo_state *state)
{
    duo_registered *entry = lock_entry(event, state);
    if (entry == NULL) return;
    pass(entry, event, state);
    side_of(entry, event)->waits = duo_now();
    unlock_registry();
}

void duo_registry_waits_to_send(const duo_recorded *event, const duo_message *message)
{
    duo_registered *entry = lock_entry(event, message->in);
    if (entry == NULL) return;
    move_to(entry, message->in);
    pass(entry, event, message->in);
    side_of(entry, event)->waits = duo_now();
    side_of(entry, event)->for_space = true;
    unlock_registry();
}

void duo_registry_has_sent(const duo_recorded *event, const duo_message *message)
{
    duo_registered *entry = lock_entry(event, NULL);
    if (entry == NULL) return;
    /* The peer may have answered by now. */
    if (entry->state == message->in->name) move_to(entry, state_after(message));
    entry->since = duo_now();
    pass(entry, event, state_after(message));
    unlock_registry();
}

void duo_registry_receives(const duo_recorded *event, const duo_message *message)
{
    duo_registered *entry = lock_entry(event, message->in);
    if (entry == NULL) return;
    duo_registered_side *side = side_of(entry, event);
    /* A session that is older than its entry may have messages that were not counted when they were sent. */
    if (side->received < entry->sides[!event->is_server].sent) side->received++;
    pass(entry, event, state_after(message));
    unlock_registry();
}

void duo_registry_stops_waiting(const duo_recorded *event)
{
    duo_registered *entry = lock_entry(event, NULL);
    if (entry == NULL) return;
    side_of(entry, event)->waits = 0;
    unlock_registry();
}

void duo_registry_leaves(const duo_recorded *event)
{
    duo_registered *entry = lock_entry(event, NULL);
    if (entry == NULL) return;
    duo_registered_side *side = side_of(entry, event);
    side->has_left = true;
    side->is_done = true;
    side->waits = 0;
    if (entry->sides[0].is_done && entry->sides[1].is_done) entry->number = 0;
    unlock_registry();
}

/* In milliseconds. */
static uint64_t passed(uint64_t since, uint64_t now)
{
    return since < now ? (now - since) / 1000000 : 0;
}

static void write_text(FILE *file, const char *member, const char *text)
{
    if (text == NULL || *text == 0) fprintf(file, ",\"%s\":null", member);
    else fprintf(file, ",\"%s\":\"%s\"", member, text);
}

/* Whether the side has counted a message that waits for space. */
static bool is_blocked(const duo_registered_side *side)
{
    return side->for_space && side->waits != 0 && side->sent > 0;
}

static void write_side(FILE *file, const duo_registered *entry, int at, uint64_t now)
{
    const duo_registered_side *side = &entry->sides[at];
    uint64_t sent = entry->sides[1 - at].sent - is_blocked(&entry->sides[1 - at]);
    fprintf(file, "%s{\"side\":\"%s\"", at == 0 ? "" : ",", at == 0 ? "client" : "server");
    write_text(file, "state", side->state);
    write_text(file, "owner", side->owner);
    if (side->waits == 0) fputs(",\"waits\":null,\"for\":null", file);
    else fprintf(file, ",\"waits\":%" PRIu64 ",\"for\":\"%s\"", passed(side->waits, now), side->for_space ? "space" : "message");
    fprintf(file, ",\"in_flight\":%" PRIu64 ",\"left\":%s}", sent < side->received ? 0 : sent - side->received,
            side->has_left ? "true" : "false");
}

static void write_entry(FILE *file, const duo_registered *entry, uint64_t now)
{
    const char *dot = strrchr(entry->protocol, '.');
    int protocol = dot == NULL ? 0 : (int)(dot - entry->protocol);
    fprintf(file, "{\"session\":\"%" PRIu64 "\",\"protocol\":\"%.*s\"", entry->number, protocol, entry->protocol);
    write_text(file, "state", entry->state);
    fprintf(file, ",\"turn\":\"%s\",\"waits\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"sides\":[",
            entry->turn_is_server ? "server" : "client", passed(entry->since, now),
            entry->messages - is_blocked(&entry->sides[0]) - is_blocked(&entry->sides[1]));
    write_side(file, entry, 0, now);
    write_side(file, entry, 1, now);
    fputs("]}", file);
}

duo_status duo_registry_write(FILE *file)
{
    if (duo_atomic_exchange(&is_writing, true, memory_order_acquire)) return DUO_REFUSED;
    lock_registry();
    duo_registered *all = duo_atomic_load(&registered, memory_order_acquire);
    size_t count = all == NULL ? 0 : registered_most;
    if (count > 0) memcpy(all + count, all, count * sizeof *all);
    uint64_t now = duo_now();
    unlock_registry();
    fprintf(file, "{\"format\":1,\"language\":\"c\",\"process\":%ld,\"missing\":%" PRIu64 ",\"sessions\":[", (long)getpid(),
            duo_atomic_load(&registered_missing, memory_order_relaxed));
    bool is_first = true;
    for (size_t at = 0; at < count; at++) {
        const duo_registered *entry = &all[count + at];
        if (entry->number == 0) continue;
        if (!is_first) fputc(',', file);
        write_entry(file, entry, now);
        is_first = false;
    }
    fputs("]}\n", file);
    duo_atomic_store(&is_writing, false, memory_order_release);
    return fflush(file) == 0 && !ferror(file) ? DUO_OK : DUO_SYSTEM;
}

#endif
#endif
