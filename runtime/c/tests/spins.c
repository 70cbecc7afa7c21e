/* Between processes, too, a receiver that has spun before it calls the library does not spin again there. */
#define _GNU_SOURCE
#include "check.h"

#ifdef __linux__

#define duo_shm_futex_wait real_futex_wait
#define duo_shm_register_barrier real_register_barrier
#define duo_shm_wake real_wake
#define duo_shm_leave real_leave
#define duo_shm_has_died real_has_died
#define duo_shm_may_spin real_may_spin
#define duo_shm_await real_await
#define duo_backoff_begin counted_spins
#define duo_shm_why_gone real_why_gone
#include "../src/shm/wait.c"

static unsigned spinning, yielding;

duo_backoff counted_spins(bool spins)
{
    if (spins) spinning += 1;
    else yielding += 1;
    return (duo_backoff){0, 0};
}

static bool never(duo_shm *shm)
{
    (void)shm;
    return false;
}

TEST(spins)
{
    static duo_shm_side own, peer;
    static duo_shm shm = {.own = &own, .peer = &peer, .heavy = true};
    shm.peer_checked_at = duo_now();
    CHECK(real_await(&shm, never, 1) == DUO_EMPTY && spinning == 1 && yielding == 0);
    shm.has_spun = true;
    CHECK(!real_may_spin(&shm));
    CHECK(real_await(&shm, never, 1) == DUO_EMPTY && spinning == 1 && yielding == 1);
    CHECK(real_await(&shm, never, 1) == DUO_EMPTY && spinning == 2 && yielding == 1);

    /* A peer that was last on this thread's processor cannot answer while this thread spins. */
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    CHECK(sched_setaffinity(0, sizeof here, &here) == 0);
    atomic_store(&peer.processor, (uint32_t)sched_getcpu() + 1);
    CHECK(!real_may_spin(&shm));
    CHECK(real_await(&shm, never, 1) == DUO_EMPTY && spinning == 2 && yielding == 2);
}


#endif
