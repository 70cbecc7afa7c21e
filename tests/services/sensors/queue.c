/*
 * A job queue for tests: `queue ADDRESS REFUSALS` is full for the first REFUSALS submissions and takes all later ones.
 * Each job is done when its outcome is asked for; every third one fails. It ends when its input ends.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "jobs_net.h"

/* The most jobs of one session that have not been collected. */
enum { MOST_JOBS = 16 };

static atomic_ulong refusals;
static _Atomic uint64_t last_number, refused;

/* The jobs of a session, by their numbers. */
typedef struct accepted {
    uint64_t numbers[MOST_JOBS];
    size_t count;
} accepted;

static duo_status answer_submission(jobs_server_ticket_t self, accepted *jobs, jobs_server_idle_t *next)
{
    unsigned long left = atomic_load(&refusals);
    while (left > 0 && !atomic_compare_exchange_weak(&refusals, &left, left - 1)) continue;
    if (left > 0 || jobs->count == MOST_JOBS) {
        atomic_fetch_add(&refused, 1);
        return jobs_server_ticket_send_full(self, 1, next);
    }
    const uint64_t number = atomic_fetch_add(&last_number, 1) + 1;
    jobs->numbers[jobs->count++] = number;
    return jobs_server_ticket_send_accepted(self, number, next);
}

static duo_status answer_collection(jobs_server_result_t self, accepted *jobs, jobs_server_idle_t *next)
{
    if (jobs->count == 0) return jobs_server_result_send_nothing(self, next);
    const uint64_t number = jobs->numbers[--jobs->count];
    outcome_t how = {.tag = OUTCOME_DONE, .as = {.done = {.value = {(const uint8_t *)"seen", 4}}}};
    if (number % 3 == 0) how = (outcome_t){.tag = OUTCOME_FAILED, .as = {.failed = {.value = DUO_STR("nobody\ncame")}}};
    return jobs_server_result_send_ended(self, number, how, next);
}

static void serve(jobs_server_idle_t from, const duo_peer *peer, void *context)
{
    (void)peer, (void)context;
    accepted jobs = {.count = 0};
    DUO_AUTO(jobs_server_idle) idle = from;
    for (;;) {
        DUO_AUTO_FREE(jobs_idle) asked = {0};
        duo_status status = jobs_server_idle_recv(idle, &asked);
        if (status != DUO_OK) return;
        switch (asked.tag) {
        case JOBS_IDLE_SUBMIT: status = answer_submission(asked.as.submit.next, &jobs, &idle); break;
        case JOBS_IDLE_COLLECT: status = answer_collection(asked.as.collect.next, &jobs, &idle); break;
        case JOBS_IDLE_LEAVE: return;
        }
        if (status != DUO_OK) return;
    }
}

static void *run(void *listener)
{
    return duo_listener_run(listener) == DUO_OK ? NULL : listener;
}

int main(int count, char **arguments)
{
    duo_listener *listener;
    pthread_t thread;
    void *failed;
    if (count != 3) return 2;
    refusals = strtoul(arguments[2], NULL, 10);
    if (duo_listen(arguments[1], NULL, &listener) != DUO_OK) return 1;
    if (jobs_server_serve(listener, NULL, serve, NULL) != DUO_OK) return 1;
    if (pthread_create(&thread, NULL, run, listener) != 0) return 1;
    printf("listening %s\n", duo_listener_address(listener));
    fflush(stdout);
    while (getchar() != EOF) continue;
    duo_listener_drain(listener, UINT64_C(1000000000));
    pthread_join(thread, &failed);
    duo_listener_close(listener);
    printf("refused %" PRIu64 ", accepted %" PRIu64 "\n", refused, last_number);
    return failed == NULL && duo_shutdown() == 0 ? 0 : 1;
}
