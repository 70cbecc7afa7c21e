/* Waiting for one of a few endpoints: one bell for all of them, hung up for the time of the call. */
#include "ring.h"
#include "transport.h"

enum { LOOKS = 100, YIELDS = 2 };

typedef struct select_bell {
    duo_bell bell;
    _Atomic uint64_t rung;
} select_bell;

static void ring(duo_bell *bell)
{
    select_bell *waiting = (select_bell *)(void *)bell;
    atomic_store_explicit(&waiting->rung, 1, memory_order_release);
    duo_wake(&waiting->rung);
}

/* One look at all endpoints, beginning at `first`: DUO_OK, DUO_EMPTY, DUO_USED or DUO_SYSTEM. */
static duo_status look(const duo_endpoint *endpoints, size_t count, size_t first, size_t *which)
{
    for (size_t i = 0; i < count; i++) {
        *which = (first + i) % count;
        if (duo_is_remote(endpoints[*which])) return duo_is_elsewhere();
        duo_side *side = duo_look_at(endpoints[*which]);
        if (side == NULL) return DUO_USED;
        if (duo_is_ready(side)) return DUO_OK;
    }
    return DUO_EMPTY;
}

/* Sleeps until the bell was rung for one of the endpoints; false if the time was over before. */
static bool doze(const duo_endpoint *endpoints, size_t count, const struct timespec *deadline)
{
    select_bell bell = {{ring}, 0};
    size_t hung = 0, which;
    duo_hanging how = DUO_HUNG;
    bool is_unseen = false;
    while (hung < count && (how = duo_hang(duo_look_at(endpoints[hung]), &bell.bell)) != DUO_NOT_HUNG) {
        is_unseen |= how == DUO_HUNG_UNSEEN;
        hung++;
    }
    /* One barrier for all: either a sender sees the bell, or the message is seen here. */
    if (hung == count && is_unseen) duo_barrier();
    bool in_time = true;
    if (hung == count && (!is_unseen || look(endpoints, count, 0, &which) == DUO_EMPTY)) {
        while (in_time && atomic_load_explicit(&bell.rung, memory_order_acquire) == 0)
            in_time = duo_wait(&bell.rung, 0, deadline);
    }
    for (size_t i = 0; i < hung; i++) duo_take_down(duo_look_at(endpoints[i]));
    return in_time;
}

/*
 * A place below `count` to begin at: the fractional part of a count of choices times the golden
 * ratio. Multiples of an irrational number spread evenly over the places, and so do every second,
 * every third and so on of them. A plain count would not do: of two calls that take turns, each
 * between two endpoints, each would always begin with the same one.
 */
static size_t place_to_begin(size_t count)
{
    static DUO_EACH_THREAD uint32_t phase;
    phase += UINT32_C(0x9E3779B9);
    return (size_t)((uint64_t)phase * count >> 32);
}

duo_status duo_select(const duo_endpoint *endpoints, size_t count, uint64_t wait, size_t *which)
{
    if (count == 0) return DUO_EMPTY;
    size_t first = place_to_begin(count);
    duo_status status = look(endpoints, count, first, which);
    if (wait == DUO_AT_ONCE) return status;
    for (size_t looks = 0; status == DUO_EMPTY && looks < LOOKS / count + YIELDS; looks++) {
        if (looks < LOOKS / count) relax();
        else duo_yield();
        status = look(endpoints, count, first, which);
    }
    struct timespec deadline = {0};
    if (wait != DUO_FOREVER) deadline = duo_deadline(wait);
    bool in_time = true;
    while (status == DUO_EMPTY && in_time) {
        in_time = doze(endpoints, count, wait == DUO_FOREVER ? NULL : &deadline);
        status = look(endpoints, count, first, which);
    }
    return status;
}
