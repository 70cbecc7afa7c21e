/*
 * The sensor gateway: `gateway ADDRESS QUEUE` serves the protocol `sensor` at the first address and submits alarms
 * to the job queue at the second one. README.md in the folder above describes its commands and what it prints.
 *
 * One thread runs the event loop in this file: it accepts sensors, handles their messages, and reads commands. It waits
 * only in `epoll_wait`. The workers wait for the queue.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sensor_net.h"
#include "sessions.h"
#include "worker.h"

enum { WORKERS = 2, MOST_SESSIONS = 500, MESSAGES_AT_ONCE = 64, LINE_SPACE = 200 };

/*
 * How long a sensor may be silent, how long connected sensors have to poll at the end, and how long alarms then have to
 * be delivered, in nanoseconds.
 */
#define SILENCE UINT64_C(60000000000)
#define GOODBYE UINT64_C(1000000000)
#define LAST_ALARMS UINT64_C(3000000000)

/* How long a sensor has to begin a session after it has connected, in nanoseconds. */
#define HELLO UINT64_C(1000000000)

typedef struct loop {
    gateway gateway;
    duo_listener *listener;
    int epoll;
    /* `epoll` cannot wait for the input, because it is a file. */
    bool input_is_file;
    /* The current line of the input; a line that is too long is cut off. */
    char line[LINE_SPACE];
    size_t line_size;
    worker workers[WORKERS];
    duo_canceler *canceler;
} loop;

static void wake_loop(void *ports)
{
    /* The set's descriptor becomes readable. */
    duo_ports_interrupt(ports);
}

/* What `epoll_wait` reports, in `data.u32`. */
enum { LISTENER = 1, SESSIONS, INPUT };

static bool watch(loop *own, int descriptor, uint32_t what)
{
    struct epoll_event event = {.events = EPOLLIN};
    event.data.u32 = what;
    return epoll_ctl(own->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static void accept_sessions(loop *own)
{
    sensor_server_unknown_t sensor;
    while (sensor_server_accept(own->listener, DUO_AT_ONCE, &sensor) == DUO_OK) session_begin(&own->gateway, sensor);
}

/* Handles some messages of sessions that are ready; if there are more, the descriptor stays readable. */
static void serve_sessions(loop *own)
{
    void *ready;
    for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
        if (duo_ports_wait(own->gateway.ports, DUO_AT_ONCE, &ready) != DUO_OK) return;
        session_continue(ready);
    }
}

/* Handles the alarms that have ended. */
static void handle_outcomes(gateway *own)
{
    for (alarm_job *ended = backlog_finished(own->alarms); ended != NULL;) {
        alarm_job *next = ended->next;
        char text[REASON_SPACE + 8] = "not sent";
        switch (ended->end) {
        case ALARM_UNSENT: own->unsent += 1; break;
        case ALARM_UNKNOWN:
            own->unknown += 1;
            snprintf(text, sizeof text, "unknown");
            break;
        case ALARM_OUTCOME:
            if (ended->outcome.tag == OUTCOME_DONE) own->done += 1;
            else own->failed += 1;
            outcome_print(text, sizeof text, ended->outcome);
            device_keep_outcome(devices_find(&own->known, ended->sensor), ended->outcome);
            break;
        }
        printf("outcome %s: %s\n", ended->sensor, text);
        alarm_free(ended);
        ended = next;
    }
}

static void obey(gateway *own, const char *line)
{
    char verb[8] = "", name[NAME_SPACE] = "";
    settings_t settings;
    const int words = sscanf(line, "%7s %32s %" SCNu32 " %lf %lf", verb, name, &settings.every_ms, &settings.lowest,
                             &settings.highest);
    device *sensor = devices_find(&own->known, name);
    const bool sets = words == 5 && strcmp(verb, "set") == 0 && settings.lowest <= settings.highest;
    const bool stops = words == 2 && strcmp(verb, "stop") == 0, shows = words == 2 && strcmp(verb, "show") == 0;
    if (!sets && !stops && !shows) {
        printf("commands: set NAME EVERY_MS LOWEST HIGHEST, stop NAME, show NAME\n");
    } else if (sensor == NULL) {
        printf("no sensor has this name\n");
    } else if (shows) {
        device_print(sensor);
    } else {
        if (sets) sensor->settings = settings;
        if (sets) sensor->is_changed = true;
        if (stops) sensor->is_stopped = true;
        printf("%s %s\n", verb, name);
    }
}

/* Reads some commands; false at the end of the input. */
static bool read_commands(loop *own)
{
    char bytes[256];
    const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    for (ssize_t i = 0; i < size; i++) {
        if (bytes[i] != '\n') {
            if (own->line_size < LINE_SPACE - 1) own->line[own->line_size++] = bytes[i];
            continue;
        }
        own->line[own->line_size] = '\0';
        own->line_size = 0;
        obey(&own->gateway, own->line);
    }
    return size > 0;
}

/* Waits for events and handles them; false at the end of the input. */
static bool turn(loop *own, int milliseconds)
{
    struct epoll_event events[3];
    if (own->input_is_file) milliseconds = 0;
    const int count = epoll_wait(own->epoll, events, 3, milliseconds);
    bool goes_on = !own->input_is_file || read_commands(own);
    for (int i = 0; i < count; i++) {
        switch (events[i].data.u32) {
        case LISTENER: accept_sessions(own); break;
        case SESSIONS: serve_sessions(own); break;
        case INPUT: goes_on = read_commands(own); break;
        }
    }
    handle_outcomes(&own->gateway);
    return goes_on;
}

/* No sensor can connect any more. Those that poll are stopped, and the sessions of the others are closed. */
static void say_goodbye(loop *own)
{
    const duo_time_limit limit = duo_time_limit_in(GOODBYE);
    own->gateway.is_closing = true;
    if (!own->input_is_file) epoll_ctl(own->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
    own->input_is_file = false;
    duo_listener_close(own->listener);
    own->listener = NULL;
    while (own->gateway.first != NULL && duo_time_left(limit) != 0) turn(own, (int)(duo_time_left(limit) / 1000000) + 1);
    sessions_close(&own->gateway);
}

static void print_summary(const gateway *own)
{
    for (size_t i = 0; i < own->known.count; i++) device_print(own->known.all[i]);
    printf("sensors: %" PRIu64 " registered, %" PRIu64 " lost\n", own->registered, own->lost);
    printf("readings: %" PRIu64 "\n", own->readings);
    printf("alarms: %" PRIu64 " raised, %" PRIu64 " dropped, %" PRIu64 " unsent\n", own->raised, own->dropped, own->unsent);
    printf("outcomes: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " unknown\n", own->done, own->failed, own->unknown);
}

static int fail(const char *what)
{
    fprintf(stderr, "gateway: %s\n", what);
    return 1;
}

static int run(loop *own, const char *queue)
{
    size_t started = 0;
    while (started < WORKERS && worker_start(&own->workers[started], own->gateway.alarms, queue, own->canceler)) started++;
    if (started < WORKERS) fail("not all workers could be started");
    printf("listening %s\n", duo_listener_address(own->listener));
    while (turn(own, -1)) continue;
    say_goodbye(own);
    backlog_drain(own->gateway.alarms, LAST_ALARMS);
    duo_cancel(own->canceler);
    for (size_t i = 0; i < started; i++) pthread_join(own->workers[i].thread, NULL);
    handle_outcomes(&own->gateway);
    print_summary(&own->gateway);
    return started == WORKERS ? 0 : 1;
}

int main(int count, char **arguments)
{
    static loop own;
    if (count != 3) return fail("expected: gateway ADDRESS QUEUE");
    setvbuf(stdout, NULL, _IOLBF, 0);
    const duo_net_options options = {.sessions = MOST_SESSIONS, .hello = HELLO, .idle = SILENCE, .largest = 64 << 10};
    duo_status status = duo_listen(arguments[1], &options, &own.listener);
    if (status != DUO_OK) return fail(duo_status_text(status));
    own.gateway.ports = duo_ports_new();
    own.gateway.alarms = own.gateway.ports != NULL ? backlog_new(wake_loop, own.gateway.ports) : NULL;
    own.canceler = duo_canceler_new();
    own.epoll = epoll_create1(EPOLL_CLOEXEC);
    int code = 1;
    if (own.gateway.alarms == NULL || own.canceler == NULL || !watch(&own, duo_listener_descriptor(own.listener), LISTENER) ||
        !watch(&own, duo_ports_descriptor(own.gateway.ports), SESSIONS)) {
        fail("out of memory or descriptors");
    } else {
        own.input_is_file = !watch(&own, STDIN_FILENO, INPUT);
        code = run(&own, arguments[2]);
    }
    duo_listener_close(own.listener);
    duo_canceler_free(own.canceler);
    backlog_free(own.gateway.alarms);
    duo_ports_free(own.gateway.ports);
    devices_free(&own.gateway.known);
    if (own.epoll >= 0) close(own.epoll);
    if (duo_shutdown() != 0) return fail("a session was forgotten");
    return code;
}
