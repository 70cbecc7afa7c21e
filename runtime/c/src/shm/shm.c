/* The operations of sessions in shared memory. The invariants are in shm.h, the layout in runtime/shared-memory.md. */
#include "lines.h"

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
