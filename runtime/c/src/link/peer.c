/* The peer of a side: how it is woken or notified. */
#include "link.h"
#include "../ring/ring.h"

void duo_notify(duo_side *side)
{
    duo_notifier *notifier = duo_atomic_load(&side->notifier, memory_order_relaxed);
    notifier->notify(notifier);
    duo_atomic_store(&side->notifier, NULL, memory_order_release);
}

void duo_notify_waiter_in_word(duo_session *session, unsigned role, DUO_ATOMIC uint64_t *word, uint64_t before)
{
    if (before & WAITS) duo_wake(word, DUO_HIGH_HALF);
    if (before & WORD_ARMED) duo_notify(&session->sides[role]);
}

void duo_notify_waiter(duo_session *session, unsigned role, uint64_t waiter)
{
    if (waiter & FLAGS_ARMED) duo_notify(&session->sides[role]);
    else if (waiter & WAITING) duo_wake(flags_of(session, role), DUO_LOW_HALF);
}
