/*
 * `remote client|server CASE ADDRESS`: one side of a conversation of tests/run over a socket, or in shared memory at an
 * address `shm:/NAME`. Writes its lines of the transcript. A server says first where it listens. The last line is `why
 * REASON`, and the status 3, if the session ends where the conversation does not expect it. With `DUOLOGUE_HOLD=N` it
 * prints `held` after N lines of the transcript, and waits until a line is written to its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "transcript.h"

#ifdef WITH_TLS
#include "duologue/tls.h"
#endif

struct run {
    const char *name;
    duo_status (*client)(const char *address, struct transcript *transcript);
    duo_status (*server)(duo_listener *listener, struct transcript *transcript);
    duo_status (*attach_client)(int region, struct transcript *transcript);
    duo_status (*attach_server)(int region, struct transcript *transcript);
};

#define MINUTE UINT64_C(60000000000)

static void report_failure(const duo_problem *failed, void *context)
{
    (void)context;
    fprintf(stderr, "%s\n", failed->text);
}

static duo_problem problem;
static duo_net_options options = {.problem = &problem, .failed = report_failure};
static const duo_shm_options memory_options = {.wait = MINUTE};

#define PROGRAMS(name, prefix, state)                                                              \
    duo_status name##_case_client(prefix##_client_##state##_t, struct transcript *);               \
    duo_status name##_case_server(prefix##_server_##state##_t, struct transcript *);               \
    static duo_status run_client_of_##name(const char *address, struct transcript *transcript)     \
    {                                                                                              \
        prefix##_client_##state##_t client;                                                        \
        TRY(prefix##_client_connect(address, &options, &client));                                  \
        transcript_begin(transcript);                                                              \
        return name##_case_client(client, transcript);                                             \
    }                                                                                              \
    static duo_status run_server_of_##name(duo_listener *listener, struct transcript *transcript)  \
    {                                                                                              \
        prefix##_server_##state##_t server;                                                        \
        TRY(prefix##_server_accept(listener, MINUTE, &server));                                    \
        transcript_begin(transcript);                                                              \
        return name##_case_server(server, transcript);                                             \
    }                                                                                              \
    static duo_status attach_client_of_##name(int region, struct transcript *transcript)           \
    {                                                                                              \
        prefix##_client_##state##_t client;                                                        \
        TRY(prefix##_client_attach(region, &memory_options, &client));                             \
        return name##_case_client(client, transcript);                                             \
    }                                                                                              \
    static duo_status attach_server_of_##name(int region, struct transcript *transcript)           \
    {                                                                                              \
        prefix##_server_##state##_t server;                                                        \
        TRY(prefix##_server_attach(region, &memory_options, &server));                             \
        return name##_case_server(server, transcript);                                             \
    }
#define RUN(name, prefix, state)                                                                   \
    {#name, run_client_of_##name, run_server_of_##name, attach_client_of_##name, attach_server_of_##name},

CASES(PROGRAMS)

static const struct run runs[] = {CASES(RUN)};

static int report(duo_status status)
{
    const char *why = NULL;
    switch (status) {
    case DUO_OK: return 0;
    case DUO_CLOSED: why = "left"; break;
    case DUO_LOST: why = "lost"; break;
    case DUO_BROKEN: why = "broken"; break;
    case DUO_LATE: why = "late"; break;
    case DUO_REFUSED: why = "refused"; break;
    default: fprintf(stderr, "%s %s\n", duo_status_text(status), problem.text); return 1;
    }
    printf("why %s\n", why);
    return 3;
}

static duo_status serve(const struct run *run, const char *address, struct transcript *transcript)
{
    duo_listener *listener;
    TRY(duo_listen(address, &options, &listener));
    printf("listening %s\n", duo_listener_address(listener));
    duo_status status = run->server(listener, transcript);
    duo_listener_close(listener);
    return status;
}

/* The name of a region, if the address is one. */
static const char *region_name(const char *address)
{
    return strncmp(address, "shm:", 4) == 0 ? address + 4 : NULL;
}

static duo_status share(const struct run *run, const char *name, bool is_server, struct transcript *transcript)
{
    int region;
    TRY(duo_shm_open(name, 0, &region));
    if (is_server) printf("listening shm:%s\n", name);
    duo_status status = (is_server ? run->attach_server : run->attach_client)(region, transcript);
    close(region);
    return status;
}

#ifdef WITH_TLS
/* The certificates of a side, from the folder that the environment names, if it names one. */
static duo_status secure(const char *side)
{
    const char *folder = getenv("DUOLOGUE_TLS");
    if (folder == NULL) return DUO_OK;
    static char authorities[512], chain[512], key[512];
    snprintf(authorities, sizeof authorities, "%s/ca.pem", folder);
    snprintf(chain, sizeof chain, "%s/%s.pem", folder, side);
    snprintf(key, sizeof key, "%s/%s.key", folder, side);
    const duo_tls_options files = {.authorities_file = authorities, .chain_file = chain, .key_file = key};
    static duo_tls *tls;
    TRY(duo_tls_new(&files, &tls, &problem));
    options.tls = tls;
    return DUO_OK;
}
#endif

int main(int argc, char **argv)
{
    /* A side that fails must not leave the other one waiting. */
    alarm(60);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 4) return 2;
    const char *heartbeat = getenv("DUOLOGUE_HEARTBEAT");
    if (heartbeat != NULL) options.heartbeat = (uint16_t)strtoul(heartbeat, NULL, 10);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (strcmp(runs[i].name, argv[2]) != 0) continue;
        struct transcript *transcript = transcript_new();
        const char *held = getenv("DUOLOGUE_HOLD");
        if (held != NULL) transcript_hold(transcript, strtoul(held, NULL, 10));
        bool is_server = strcmp(argv[1], "server") == 0;
        duo_status status = DUO_OK;
#ifdef WITH_TLS
        status = secure(argv[1]);
#endif
        const char *name = region_name(argv[3]);
        if (status == DUO_OK && name != NULL) status = share(&runs[i], name, is_server, transcript);
        else if (status == DUO_OK && is_server) status = serve(&runs[i], argv[3], transcript);
        else if (status == DUO_OK) status = runs[i].client(argv[3], transcript);
        transcript_free(transcript);
        return report(status);
    }
    fprintf(stderr, "no such case: %s\n", argv[2]);
    return 2;
}
