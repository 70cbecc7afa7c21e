/*
 * Time limits are measured with a clock that cannot be set, even where threads sleep on conditions.
 * Linked with `--wrap`, so that the calls to the system can be observed: here, and not in other cases.
 */
#include <errno.h>

#include "check.h"
#include "duologue/ready.h"
#include "golden.h"

static const pthread_cond_t *by_monotonic[64];
static size_t made, limited;
static bool is_observed;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *how);
int __real_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *how);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (is_observed) CHECK(clock != CLOCK_REALTIME);
    return __real_clock_gettime(clock, now);
}

int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *how)
{
    clockid_t clock = CLOCK_REALTIME;
    if (how != NULL) CHECK(pthread_condattr_getclock(how, &clock) == 0);
    if (is_observed && clock == CLOCK_MONOTONIC) by_monotonic[made++] = condition;
    return __real_pthread_cond_init(condition, how);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until)
{
    size_t at = 0;
    while (at < made && by_monotonic[at] != condition) at++;
    if (is_observed) {
        CHECK(at < made);
        limited += 1;
    }
    return __real_pthread_cond_timedwait(condition, lock, until);
}

TEST(clock)
{
    is_observed = true;
    const uint64_t moment = 2000000;
    ping_server_ping_t server;
    ping_client_ping_t client;
    ping_client_pong_t waiting;
    ping_pong_t answer;
    size_t which;
    void *with;
    CHECK(ping_init(&server, &client) == DUO_OK);
    CHECK(ping_client_ping_send_ping(client, 1, &waiting) == DUO_OK);
    CHECK(ping_client_pong_recv_within(waiting, moment, &answer) == DUO_EMPTY);
    CHECK(limited > 0);
    duo_endpoint endpoint = DUO_READY(waiting);
    CHECK(duo_select(&endpoint, 1, moment, &which) == DUO_EMPTY);
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL && duo_ports_add(ports, endpoint, NULL, NULL) == DUO_OK);
    CHECK(duo_ports_wait(ports, moment, &with) == DUO_EMPTY);
    duo_ports_free(ports);
    CHECK(limited >= 3);
    CHECK(ping_client_pong_close(waiting) == DUO_OK && ping_server_ping_close(server) == DUO_OK);
}
