/* Waiting: first as backoff.h describes, then by sleeping. */
#include "../floor/backoff.h"
#include "link.h"
#include "../ring/ring.h"

/* What a wait is for: a message, or free slots. */
typedef struct parked_wait {
    duo_session *session;
    duo_side *side;
    bool is_for_credit;
} parked_wait;

static inline bool is_over(const parked_wait *what)
{
    if (!what->is_for_credit) return duo_is_ready(what->side);
    uint64_t credit;
    return duo_check_credit(what->session, what->side, &credit) != DUO_CREDIT_FULL;
}

/* Whether the peer last ran on the processor of this thread. */
static inline bool is_on_this_processor(uint64_t at)
{
    uint64_t peer = at & PROCESSORS;
    return peer != 0 && peer == duo_processor();
}

#ifdef DUO_NO_THREADS

uint64_t duo_spin(duo_side *side, const duo_line *line, uint64_t at)
{
    (void)side;
    (void)line;
    (void)at;
    return 0;
}

#else

uint64_t duo_spin(duo_side *side, const duo_line *line, uint64_t at)
{
    if (is_on_this_processor(at)) return 0;
    for (int spins = 0; spins < DUO_SPINS; spins++) {
        duo_relax();
        uint64_t word = duo_atomic_load(&line->word, memory_order_acquire);
        if (has_message(word, at)) return word;
        if (has_closed(word, at)) return 0;
    }
    side->has_spun = true;
    return 0;
}

#endif

/* Spins, unless `spins` is false, and yields for a while; false if what it waits for has not arrived. */
static bool polls_side(const parked_wait *what, bool spins)
{
    duo_backoff backoff = duo_backoff_begin(spins && !is_on_this_processor(what->side->at));
    while (duo_backoff_pass(&backoff, 1)) {
        if (is_over(what)) return true;
    }
    return false;
}

/* Sleeps on the word, where messages are swapped. */
static bool sleep_in_word(duo_side *side, uint64_t until)
{
    DUO_ATOMIC uint64_t *place = &side->line->word;
    uint64_t word = duo_atomic_load(place, memory_order_acquire);
    bool in_time = true;
    while (in_time && !has_news(word, side->at)) {
        /* A mark from an earlier wait, or from before a sleep that ended early, may still be set. */
        if (!(word & WAITS) &&
            !duo_atomic_compare_exchange_strong(place, &word, word | WAITS,
                                                memory_order_acq_rel, memory_order_acquire))
            continue;
        in_time = duo_wait(place, DUO_HIGH_HALF, word | WAITS, until);
        word = duo_atomic_load(place, memory_order_acquire);
    }
    return duo_is_ready(side);
}

/* Sleeps on the flags, where messages are stored. */
static bool sleep_in_flags(duo_session *session, duo_side *side, uint64_t until)
{
    DUO_ATOMIC uint64_t *flags = flags_of(session, role_of(side));
    uint64_t waits = (side->at & KEY) | WAITING;
    uint64_t said = 0;
    bool is_said = duo_atomic_compare_exchange_strong(flags, &said, waits, memory_order_acq_rel,
                                                      memory_order_acquire);
    if (is_said) {
        duo_barrier();
        bool in_time = true;
        while (in_time && !duo_is_ready(side) &&
               duo_atomic_load(flags, memory_order_acquire) == waits)
            in_time = duo_wait(flags, DUO_LOW_HALF, waits, until);
        said = waits;
        if (duo_atomic_compare_exchange_strong(flags, &said, 0, memory_order_acq_rel,
                                               memory_order_acquire))
            return duo_is_ready(side);
    }
    /* The sender has cleared the flag after its message, or is about to publish its last. */
    unsigned passes = 0;
    while (!duo_is_ready(side)) duo_pass(&passes);
    return true;
}

bool duo_await_message(duo_session *session, duo_side *side, uint64_t wait)
{
    bool spins = !side->has_spun;
    side->has_spun = false;
    if (duo_is_ready(side)) return true;
    if (wait == DUO_AT_ONCE) return false;
    parked_wait what = {session, side, false};
    if (polls_side(&what, spins)) return true;
    const uint64_t until = duo_until(wait);
    if (is_swapped(side->at)) return sleep_in_word(side, until);
    return sleep_in_flags(session, side, until);
}

duo_status duo_await_credit(duo_session *session, duo_side *side, uint64_t wait)
{
    uint64_t credit;
    const uint64_t until = duo_until(wait);
    parked_wait what = {session, side, true};
    bool in_time = wait != DUO_AT_ONCE;
    if (in_time) (void)polls_side(&what, true);
    for (;;) {
        switch (duo_check_credit(session, side, &credit)) {
        case DUO_CREDIT_FREE: return DUO_OK;
        case DUO_CREDIT_LEAVING: return DUO_CLOSED;
        case DUO_CREDIT_FULL: break;
        }
        if (!in_time) return DUO_FULL;
        if (!duo_announce_wait(session, &credit)) continue;
        in_time = duo_wait(&session->credit, DUO_LOW_HALF, credit, until);
    }
}
