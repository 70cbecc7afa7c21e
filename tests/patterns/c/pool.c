/* A pool of workers, one of which dies with its job. */
#include <pthread.h>

#include "duologue/ready.h"
#include "jobs.h"

enum { WORKERS = 3, JOBS = 10 };

/* A worker as the pool sees it, with its job; 0 if it has none. */
typedef struct worker {
    jobs_server_idle_t asks;
    jobs_server_waiting_t waits;
    uint64_t job;
    bool is_idle;
} worker;

typedef struct pool {
    worker workers[WORKERS];
    uint64_t jobs[JOBS];
    size_t left;
    uint64_t total;
} pool_t;

/* Gives the jobs that are left to workers that have none. */
static duo_status distribute(pool_t *pool, duo_ports *ports)
{
    for (worker *to = pool->workers; to < pool->workers + WORKERS && pool->left > 0; to++) {
        if (!to->is_idle) continue;
        to->is_idle = false;
        to->job = pool->jobs[pool->left - 1];
        if (jobs_server_waiting_send_job(to->waits, to->job, &to->asks) != DUO_OK) continue;
        pool->left--;
        duo_status status = duo_ports_add(ports, DUO_READY(to->asks), to, NULL);
        if (status != DUO_OK) return status;
    }
    return DUO_OK;
}

/* Runs all jobs. The job of a worker that is lost goes to another one. */
static duo_status run(pool_t *pool, duo_ports *ports)
{
    void *ready;
    duo_status status = DUO_OK;
    while (status == DUO_OK && duo_ports_wait(ports, DUO_FOREVER, &ready) == DUO_OK) {
        worker *from = ready;
        jobs_idle_t asked;
        if (jobs_server_idle_recv(from->asks, &asked) == DUO_OK) {
            const duo_opt_u64_t result = jobs_idle_as_ready(&asked)->result;
            pool->total += result.some ? result.value : 0;
            from->waits = jobs_idle_as_ready(&asked)->next;
            from->is_idle = true;
        } else if (from->job != 0) {
            pool->jobs[pool->left++] = from->job;
        }
        status = distribute(pool, ports);
    }
    return status;
}

/* What a worker has: its endpoint, and how many jobs it does before it dies. */
typedef struct own {
    jobs_client_idle_t idle;
    unsigned most;
} own_t;

static void *work(void *context)
{
    own_t *own = context;
    duo_opt_u64_t result = {0};
    jobs_client_waiting_t waiting;
    jobs_waiting_t got;
    while (jobs_client_idle_send_ready(own->idle, result, &waiting) == DUO_OK &&
           jobs_client_waiting_recv(waiting, &got) == DUO_OK) {
        if (got.tag == JOBS_WAITING_STOP) return NULL;
        const uint64_t job = jobs_waiting_as_job(&got)->value;
        own->idle = jobs_waiting_as_job(&got)->next;
        if (own->most-- == 0) break;
        result.some = true;
        result.value = job * job;
    }
    jobs_client_idle_close(own->idle);
    return NULL;
}

int main(void)
{
    pool_t pool = {0};
    own_t owns[WORKERS] = {{.most = 0}, {.most = 1000}, {.most = 1000}};
    pthread_t threads[WORKERS];
    duo_ports *ports = duo_ports_new();
    while (pool.left < JOBS) {
        pool.jobs[pool.left] = pool.left + 1;
        pool.left++;
    }
    for (int i = 0; i < WORKERS; i++) {
        worker *to = &pool.workers[i];
        if (jobs_init(&to->asks, &owns[i].idle) != DUO_OK) return 1;
        if (duo_ports_add(ports, DUO_READY(to->asks), to, NULL) != DUO_OK) return 1;
        if (pthread_create(&threads[i], NULL, work, &owns[i]) != 0) return 1;
    }
    duo_status status = run(&pool, ports);
    for (int i = 0; i < WORKERS; i++) {
        if (pool.workers[i].is_idle && jobs_server_waiting_send_stop(pool.workers[i].waits) != DUO_OK) return 2;
        pthread_join(threads[i], NULL);
    }
    duo_ports_free(ports);
    return status == DUO_OK && pool.total == 385 ? 0 : 3;
}
