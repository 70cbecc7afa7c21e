/* A session between processes as a whole. The invariants are in shm.h, the layout in runtime/shared-memory.md. */
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

static duo_status shm_close(duo_endpoint endpoint, const duo_state *state)
{
    (void)state;
    duo_shm *shm = shm_of(endpoint);
    if (!claim(shm, endpoint)) return DUO_USED;
    duo_shm_leave_set(shm, endpoint);
    duo_shm_leave(shm, DUO_SHM_LEFT);
    return DUO_OK;
}

const duo_transport duo_shm_transport = {
    .send = duo_shm_send_message,
    .recv = duo_shm_recv_message,
    .close = shm_close,
    .lane_go_on = duo_shm_lane_go_on,
    .lane_line_ends = duo_shm_lane_line_ends,
    .answer_peer = duo_shm_answer,
    .is_ready = duo_shm_is_ready,
    .sleep = duo_shm_sleep,
    .watch = duo_shm_watch,
    .unwatch = duo_shm_unwatch,
    .poll_watch = duo_shm_poll_watch,
    .sleep_watch = duo_shm_sleep_watch,
    .start_thread = duo_shm_start_thread,
    .free_watch = duo_shm_free_watch,
    .wakes_on_words = true,
};
