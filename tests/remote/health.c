/* What duologue/health.h promises: clients that ask a server about its services, and those that watch them. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "duologue/health.h"
#include "duologue/record.h"
#include "meet.h"
#include "talk_net.h"

static const char address[] = "unix:health.sock";

/* The tables of the protocol, which are in the library. */
extern const duo_wire_protocol duo_wire_of_duologue_health;

static duo_health_status check(const char *service)
{
    duo_health_status status;
    CHECK(duo_health_check(address, NULL, (duo_str){service, strlen(service)}, &status) == DUO_OK);
    return status;
}

static void set(duo_health *health, const char *service, duo_health_status status)
{
    const duo_str name = {service, strlen(service)};
    CHECK(duo_health_set(health, name, status) == DUO_OK);
    CHECK(duo_health_get(health, name) == status);
}

/* Waits until its client leaves. */
static void talk(talk_server_ask_t server, const duo_peer *peer, void *context)
{
    talk_ask_t asked;
    (void)peer, (void)context;
    CHECK(talk_server_ask_recv(server, &asked) == DUO_CLOSED);
}

struct serving {
    duo_health *health;
    duo_listener *listener;
    pthread_t thread;
};

static struct serving serve(const duo_net_options *options)
{
    struct serving here = {.listener = new_listener(address, options)};
    CHECK(duo_health_new(&here.health) == DUO_OK);
    CHECK(talk_server_serve(here.listener, NULL, talk, NULL) == DUO_OK);
    CHECK(duo_health_serve(here.listener, here.health, NULL) == DUO_OK);
    here.thread = start(run_listener, here.listener);
    return here;
}

static void end(struct serving here)
{
    finish(here.thread);
    duo_listener_close(here.listener);
    duo_health_free(here.health);
}

static void asking(void)
{
    struct serving here = serve(NULL);
    CHECK(check("") == DUO_HEALTH_SERVING && check("talk") == DUO_HEALTH_UNKNOWN);
    set(here.health, "talk", DUO_HEALTH_SERVING);
    set(here.health, "shop", DUO_HEALTH_NOT_SERVING);
    set(here.health, "", DUO_HEALTH_NOT_SERVING);
    CHECK(check("") == DUO_HEALTH_NOT_SERVING && check("talk") == DUO_HEALTH_SERVING);
    CHECK(check("shop") == DUO_HEALTH_NOT_SERVING);
    set(here.health, "talk", DUO_HEALTH_UNKNOWN);
    set(here.health, "none", DUO_HEALTH_UNKNOWN);
    CHECK(check("talk") == DUO_HEALTH_UNKNOWN && check("shop") == DUO_HEALTH_NOT_SERVING);
    CHECK(strcmp(duo_health_text(DUO_HEALTH_NOT_SERVING), "not_serving") == 0);
    /* The longest name, and one that is too long. */
    char name[257];
    memset(name, 'x', sizeof name);
    duo_health_status status;
    CHECK(duo_health_check(address, NULL, (duo_str){name, 256}, &status) == DUO_OK && status == DUO_HEALTH_UNKNOWN);
    CHECK(duo_health_check(address, NULL, (duo_str){name, 257}, &status) == DUO_TOO_LARGE);
    duo_listener_drain(here.listener, DUO_FOREVER);
    end(here);
    CHECK(duo_health_check(address, NULL, (duo_str){name, 0}, &status) == DUO_SYSTEM);
}

/* What a watching client has seen. */
struct seen {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    duo_health_status statuses[8];
    size_t count;
    /* After this many it has seen enough. */
    size_t most;
    duo_status result;
};

static bool note(duo_health_status status, void *context)
{
    struct seen *seen = context;
    pthread_mutex_lock(&seen->lock);
    CHECK(seen->count < 8);
    seen->statuses[seen->count++] = status;
    bool goes_on = seen->count < seen->most;
    pthread_cond_broadcast(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
    return goes_on;
}

static void *watch(void *context)
{
    struct seen *seen = context;
    seen->result = duo_health_watch(address, NULL, DUO_STR("talk"), note, seen);
    return NULL;
}

static void await(struct seen *seen, size_t count, duo_health_status status)
{
    pthread_mutex_lock(&seen->lock);
    while (seen->count < count) pthread_cond_wait(&seen->changed, &seen->lock);
    CHECK(seen->count == count && seen->statuses[count - 1] == status);
    pthread_mutex_unlock(&seen->lock);
}

/* Every change arrives, and nothing else. `drains`: the server ends first, with a client of another protocol; otherwise it is stopped. */
static void watching(bool drains)
{
    struct serving here = serve(NULL);
    struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .most = 8};
    struct seen few = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .most = 2};
    pthread_t thread = start(watch, &seen);
    pthread_t other = start(watch, &few);
    await(&seen, 1, DUO_HEALTH_UNKNOWN);
    await(&few, 1, DUO_HEALTH_UNKNOWN);
    set(here.health, "talk", DUO_HEALTH_SERVING);
    await(&seen, 2, DUO_HEALTH_SERVING);
    await(&few, 2, DUO_HEALTH_SERVING);
    finish(other);
    CHECK(few.result == DUO_OK);
    set(here.health, "shop", DUO_HEALTH_SERVING);
    set(here.health, "talk", DUO_HEALTH_SERVING);
    set(here.health, "talk", DUO_HEALTH_UNKNOWN);
    await(&seen, 3, DUO_HEALTH_UNKNOWN);
    /* A session in which nobody asks does not hold the server up. */
    duo_endpoint idle;
    const duo_wire_protocol *health = &duo_wire_of_duologue_health;
    CHECK(duo_net_connect(address, health, DUO_CLIENT, NULL, &idle) == DUO_OK);
    if (drains) duo_listener_drain(here.listener, DUO_FOREVER);
    else duo_listener_stop(here.listener);
    await(&seen, 4, DUO_HEALTH_NOT_SERVING);
    finish(thread);
    CHECK(seen.result == DUO_OK);
    end(here);
    CHECK(duo_close(idle, health->states) == DUO_OK);
}

static void *drain(void *listener)
{
    duo_listener_drain(listener, DUO_FOREVER);
    return NULL;
}

static bool reject(const duo_peer *peer, void *context)
{
    (void)context;
    return !duo_str_equal(peer->name, DUO_STR("health")) || peer->token.size == 1;
}

/* A server that drains while a session of another protocol goes on; and one that does not admit everybody. */
static void refused(void)
{
    const duo_net_options options = {.admit = reject};
    struct serving here = serve(&options);
    talk_client_ask_t client;
    CHECK(talk_client_connect(address, NULL, &client) == DUO_OK);
    duo_refusal refusal = {0, 0};
    duo_net_options own = {.refusal = &refusal};
    duo_health_status status;
    CHECK(duo_health_check(address, &own, DUO_STR(""), &status) == DUO_REFUSED);
    CHECK(refusal.verdict == DUO_VERDICT_NOT_ADMITTED);
    own.token = (duo_bytes){(const uint8_t *)"1", 1};
    CHECK(duo_health_check(address, &own, DUO_STR(""), &status) == DUO_OK && status == DUO_HEALTH_SERVING);
    pthread_t thread = start(drain, here.listener);
    /* Until the drain has begun. */
    while (status == DUO_HEALTH_SERVING) CHECK(duo_health_check(address, &own, DUO_STR(""), &status) == DUO_OK);
    CHECK(status == DUO_HEALTH_NOT_SERVING);
    CHECK(duo_health_check(address, &own, DUO_STR("talk"), &status) == DUO_OK && status == DUO_HEALTH_NOT_SERVING);
    CHECK(talk_client_ask_close(client) == DUO_OK);
    finish(thread);
    end(here);
}

#ifdef DUO_RECORD
/* Sessions of the program are recorded, and health checks are not. */
static void recorded(void)
{
    FILE *log = tmpfile();
    CHECK(log != NULL && duo_record_to(log, "", 1 << 20) == DUO_OK);
    struct serving here = serve(NULL);
    CHECK(check("") == DUO_HEALTH_SERVING);
    talk_client_ask_t client;
    CHECK(talk_client_connect(address, NULL, &client) == DUO_OK);
    CHECK(talk_client_ask_close(client) == DUO_OK);
    duo_listener_drain(here.listener, DUO_FOREVER);
    end(here);
    CHECK(duo_record_stop() == 0);
    rewind(log);
    char line[256];
    unsigned lines = 0;
    for (; fgets(line, sizeof line, log) != NULL; lines++)
        CHECK(strstr(line, "\"protocol\":\"talk\"") != NULL && strstr(line, "\"kind\":\"left\"") != NULL);
    /* Of both sides. */
    CHECK(lines == 2);
    CHECK(fclose(log) == 0);
}
#endif

TEST(health)
{
#ifdef DUO_RECORD
    recorded();
#endif
    asking();
    watching(true);
    watching(false);
    refused();
    CHECK(duo_shutdown() == 0);
}
