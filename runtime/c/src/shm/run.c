/* The lines of a run, and the end of a session. */
#include "lines.h"

/* More turns than there will ever be. */
#define MOST_TURNS (UINT64_C(1) << 60)

void duo_shm_expect_single_line_turns(duo_shm *shm, uint64_t turn)
{
    duo_single_line_turns *line_turns = &shm->remote.line_turns;
    line_turns->from = turn;
    line_turns->span = shm->heavy ? 0 : MOST_TURNS;
    line_turns->parity = shm->parity;
}

void duo_shm_begin_run(duo_shm *shm, uint64_t turn)
{
    /* Everything before this was read by one side or the other, so everything is free. */
    shm->line_run = shm->line_at;
    shm->line_limit = shm->line_at + shm->line_count;
    shm->byte_run = shm->byte_at;
    shm->byte_limit = shm->byte_at + shm->byte_count;
    begin_line(shm);
    duo_shm_expect_single_line_turns(shm, turn);
}

duo_status duo_shm_end(duo_shm *shm, duo_status status, duo_endpoint *next)
{
    duo_shm_leave(shm, status == DUO_OK ? DUO_SHM_DONE : DUO_SHM_LEFT);
    if (next != NULL) memset(next, 0, sizeof *next);
    return status;
}

duo_status duo_shm_turn(duo_shm *shm, duo_endpoint from)
{
    duo_shm_begin_run(shm, from.turn + 2);
    return DUO_OK;
}

void duo_shm_report_credit(duo_shm *shm)
{
    /* The line that was begun last is not finished. */
    duo_atomic_store(&shm->own->lines_taken, shm->line_at - 1, memory_order_release);
    duo_atomic_store(&shm->own->bytes_taken, shm->byte_at, memory_order_release);
    if (duo_shm_peer_flags(shm) & DUO_SHM_ASLEEP) duo_shm_wake(shm);
}
