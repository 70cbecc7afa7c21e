#include "worker.h"

#include <string.h>

/* How long to wait for the queue: for a session, for an answer, and for a job to end, in nanoseconds. */
#define CONNECTING UINT64_C(1000000000)
#define ANSWERING UINT64_C(5000000000)
#define WORKING UINT64_C(60000000000)

/* The pause before another attempt, in milliseconds: doubled each time, up to the longest. */
enum { SHORT_PAUSE = 10, LONG_PAUSE = 1000 };

/* Takes the session out of the worker. A caller that does not put it back has ended it. */
static jobs_client_idle_t take_session(worker *own)
{
    const jobs_client_idle_t taken = own->idle;
    own->idle = (jobs_client_idle_t){{NULL, 0}};
    return taken;
}

static duo_status ensure_session(worker *own)
{
    const duo_net_options options = {.hello = CONNECTING};
    if (own->idle.sends.session != NULL) return DUO_OK;
    return jobs_client_connect(own->queue, &options, &own->idle);
}

/* Submits an alarm. With DUO_OK and a pause other than 0 the queue is full. After any other status the session is over. */
static duo_status submit(worker *own, const alarm_job *alarm, uint64_t *number, uint32_t *pause)
{
    const duo_time_limit limit = duo_time_limit_in(ANSWERING);
    DUO_AUTO(jobs_client_idle) idle = take_session(own);
    DUO_AUTO(jobs_client_ticket) waiting = {0};
    const duo_bytes input = {(const uint8_t *)alarm->text, strlen(alarm->text)};
    duo_status status = jobs_client_idle_send_submit_within(idle, duo_time_left(limit), DUO_STR("alarm"), input, &waiting);
    if (status != DUO_OK) return status;
    jobs_ticket_t ticket;
    status = jobs_client_ticket_recv_within(waiting, duo_time_left(limit), &ticket);
    if (status != DUO_OK) return status;
    switch (ticket.tag) {
    case JOBS_TICKET_ACCEPTED:
        own->idle = ticket.as.accepted.next;
        *number = ticket.as.accepted.number;
        *pause = 0;
        break;
    case JOBS_TICKET_FULL:
        own->idle = ticket.as.full.next;
        *pause = ticket.as.full.retry_after_ms;
        if (*pause == 0) *pause = 1;
        if (*pause > LONG_PAUSE) *pause = LONG_PAUSE;
        break;
    }
    return DUO_OK;
}

/* Waits for the outcome of the only job of this session, and copies it. */
static duo_status collect(worker *own, uint64_t number, alarm_job *alarm)
{
    const duo_time_limit limit = duo_time_limit_in(WORKING);
    DUO_AUTO(jobs_client_idle) idle = take_session(own);
    DUO_AUTO(jobs_client_result) waiting = {0};
    DUO_AUTO_FREE(jobs_result) result = {0};
    duo_status status = jobs_client_idle_send_collect_within(idle, duo_time_left(limit), &waiting);
    if (status != DUO_OK) return status;
    status = jobs_client_result_recv_within(waiting, duo_time_left(limit), &result);
    if (status != DUO_OK) return status;
    switch (result.tag) {
    case JOBS_RESULT_ENDED:
        own->idle = result.as.ended.next;
        if (result.as.ended.number != number) return DUO_BROKEN;
        return outcome_copy(result.as.ended.how, &alarm->outcome, &alarm->block);
    case JOBS_RESULT_NOTHING: own->idle = result.as.nothing.next; return DUO_BROKEN;
    }
    return DUO_BROKEN;
}

/*
 * Submits an alarm until the queue accepts it, and collects its outcome. If the session ends before the answer, the
 * alarm is submitted again: it is better to have two jobs for an alarm than none.
 */
static void deliver(worker *own, alarm_job *alarm)
{
    uint64_t number = 0;
    uint32_t pause = 0, next_pause = SHORT_PAUSE;
    while (backlog_pause(own->alarms, pause)) {
        duo_status status = ensure_session(own);
        if (status == DUO_OK) status = submit(own, alarm, &number, &pause);
        if (status == DUO_OK && pause == 0) {
            alarm->end = collect(own, number, alarm) == DUO_OK ? ALARM_OUTCOME : ALARM_UNKNOWN;
            return;
        }
        if (status == DUO_OK) continue;
        pause = next_pause;
        next_pause = next_pause < LONG_PAUSE / 2 ? 2 * next_pause : LONG_PAUSE;
    }
}

static void *work(void *context)
{
    worker *own = context;
    alarm_job *alarm;
    duo_canceler_use(own->canceler);
    while ((alarm = backlog_take(own->alarms)) != NULL) {
        deliver(own, alarm);
        backlog_finish(own->alarms, alarm);
    }
    DUO_AUTO(jobs_client_idle) idle = take_session(own);
    duo_status status = jobs_client_idle_send_leave_within(idle, ANSWERING);
    duo_canceler_use(NULL);
    /* Without a session, or if the queue is gone, there is nothing to leave. */
    return status == DUO_OK ? own : NULL;
}

bool worker_start(worker *own, backlog *alarms, const char *queue, duo_canceler *canceler)
{
    *own = (worker){.alarms = alarms, .queue = queue, .canceler = canceler};
    return pthread_create(&own->thread, NULL, work, own) == 0;
}
