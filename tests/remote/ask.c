/*
 * A server that clients in any language ask about its services, and such a client: `ask server|client ADDRESS`. The program `ask` of
 * tests/conversations describes what they read and print.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duologue/health.h"
#include "pingpong_net.h"

static void require(bool is_true, const char *what)
{
    if (is_true) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void say(const char *word, const char *status)
{
    printf(status == NULL ? "%s\n" : "%s %s\n", word, status);
    fflush(stdout);
}

/* A line of the input, in words: the first one, and the others or NULL. */
static bool next(char line[300], char *words[3])
{
    char *rest = NULL;
    if (fgets(line, 300, stdin) == NULL) return false;
    words[0] = strtok_r(line, " \n", &rest);
    words[1] = strtok_r(NULL, " \n", &rest);
    words[2] = strtok_r(NULL, " \n", &rest);
    return words[0] != NULL;
}

/* A name of a service, which is empty for `-`. */
static duo_str service(const char *word)
{
    require(word != NULL, "a service");
    return (duo_str){word, strcmp(word, "-") == 0 ? 0 : strlen(word)};
}

static pthread_t start(void *(*run)(void *), void *context)
{
    pthread_t thread;
    require(pthread_create(&thread, NULL, run, context) == 0, "a thread");
    return thread;
}

static void *run(void *listener)
{
    require(duo_listener_run(listener) == DUO_OK, "run");
    return NULL;
}

static void *drain(void *listener)
{
    duo_listener_drain(listener, DUO_FOREVER);
    return NULL;
}

/* Until the client leaves. */
static void hold(pingpong_server_ping_t ping, const duo_peer *peer, void *context)
{
    pingpong_ping_t said;
    (void)peer, (void)context;
    require(pingpong_server_ping_recv(ping, &said) == DUO_CLOSED, "the client leaves");
}

static duo_health_status status_of(const char *word)
{
    for (duo_health_status status = DUO_HEALTH_UNKNOWN; status <= DUO_HEALTH_NOT_SERVING; status++)
        if (word != NULL && strcmp(word, duo_health_text(status)) == 0) return status;
    require(false, "a status");
    return DUO_HEALTH_UNKNOWN;
}

static void serve(const char *address)
{
    duo_health *health;
    duo_listener *listener;
    pingpong_client_ping_t held;
    pthread_t draining, running;
    char line[300], *words[3];
    require(duo_health_new(&health) == DUO_OK && duo_listen(address, NULL, &listener) == DUO_OK, "listen");
    require(pingpong_server_serve(listener, NULL, hold, NULL) == DUO_OK, "serve");
    require(duo_health_serve(listener, health, NULL) == DUO_OK, "serve the health");
    running = start(run, listener);
    require(pingpong_client_connect(duo_listener_address(listener), NULL, &held) == DUO_OK, "connect");
    say("listening", duo_listener_address(listener));
    while (next(line, words) && strcmp(words[0], "set") == 0) {
        require(duo_health_set(health, service(words[1]), status_of(words[2])) == DUO_OK, "set");
        say("set", NULL);
    }
    require(strcmp(words[0], "drain") == 0, "drain");
    draining = start(drain, listener);
    say("draining", NULL);
    require(next(line, words) && strcmp(words[0], "end") == 0, "end");
    require(pingpong_client_ping_close(held) == DUO_OK, "close");
    pthread_join(draining, NULL);
    pthread_join(running, NULL);
    duo_listener_close(listener);
    duo_health_free(health);
    say("drained", NULL);
}

typedef struct watching {
    const char *address;
    char name[256];
} watching;

static bool changed(duo_health_status status, void *context)
{
    (void)context;
    say("watched", duo_health_text(status));
    return true;
}

static void *watch(void *context)
{
    const watching *what = context;
    duo_status result = duo_health_watch(what->address, NULL, service(what->name), changed, NULL);
    say("watched", result == DUO_OK ? "over" : duo_status_text(result));
    return NULL;
}

static void ask(const char *address)
{
    watching what = {.address = address};
    pthread_t watcher;
    bool watches = false;
    char line[300], *words[3];
    while (next(line, words)) {
        duo_str name = service(words[1]);
        if (strcmp(words[0], "watch") == 0) {
            require(!watches && name.size < sizeof what.name, "one service to watch");
            memcpy(what.name, name.data, name.size);
            watcher = start(watch, &what);
            watches = true;
        } else {
            duo_health_status status;
            duo_status result = duo_health_check(address, NULL, name, &status);
            say("checked", result == DUO_OK ? duo_health_text(status) : "failed");
        }
    }
    if (watches) pthread_join(watcher, NULL);
}

int main(int count, char **arguments)
{
    require(count == 3, "ask server|client ADDRESS");
    alarm(200);
    if (strcmp(arguments[1], "server") == 0) serve(arguments[2]);
    else ask(arguments[2]);
    return duo_shutdown() == 0 ? 0 : 1;
}
