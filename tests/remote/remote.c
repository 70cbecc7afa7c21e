/*
 * `remote client|server CASE ADDRESS`: one side of a conversation of tests/run over a socket, or in shared memory at an
 * address `shm:/NAME`. Writes its lines of the transcript. A server says first where it listens. The last line is `why
 * REASON`, and the status 3, if the session ends where the conversation does not expect it.
 *
 * `remote serve CASE ADDRESS` serves one session after the other until it is stopped, and writes `why REASON` or `over`
 * after each.
 *
 * `remote pair CASE` has both sides in this process, on two threads, and writes the whole transcript.
 *
 * Without arguments it has one session for each line of its input, `client|server CASE ADDRESS`, one after the other.
 * After each it writes `ended STATUS`, also to standard error. A line may end in ` hold=N`: it prints `held` after N lines
 * of the transcript, and waits until a line is written to its input.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case.h"

#include "duologue/tls.h"

struct run {
    const char *name;
    duo_status (*client)(const char *address, struct transcript *transcript);
    duo_status (*server)(duo_listener *listener, struct transcript *transcript);
    duo_status (*attach_client)(int region, struct transcript *transcript);
    duo_status (*attach_server)(int region, struct transcript *transcript);
};

/* Five minutes: on a busy machine, a handshake can take long. */
#define PATIENCE UINT64_C(300000000000)

static void report_failure(const duo_problem *failed, void *context)
{
    (void)context;
    fprintf(stderr, "%s\n", failed->text);
}

static duo_problem problem;
static duo_net_options options = {.problem = &problem, .failed = report_failure, .hello = PATIENCE};
static const duo_shm_options memory_options = {.wait = PATIENCE};

#define PROGRAMS(name, prefix, state)                                                              \
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
        TRY(prefix##_server_accept(listener, PATIENCE, &server));                                  \
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

struct pair {
    const char *name;
    duo_status (*play)(struct transcript *transcript);
};

#define PAIR(name, prefix, state)                                                                  \
    static prefix##_server_##state##_t name##_server;                                              \
    static void *pair_server_of_##name(void *transcript)                                           \
    {                                                                                              \
        static duo_status ended;                                                                   \
        ended = name##_case_server(name##_server, transcript);                                     \
        return &ended;                                                                             \
    }                                                                                              \
    static duo_status pair_of_##name(struct transcript *transcript)                                \
    {                                                                                              \
        pthread_t thread;                                                                          \
        prefix##_client_##state##_t client;                                                        \
        void *server;                                                                              \
        TRY(prefix##_init(&name##_server, &client));                                               \
        if (pthread_create(&thread, NULL, pair_server_of_##name, transcript) != 0) abort();        \
        duo_status status = name##_case_client(client, transcript);                                \
        if (pthread_join(thread, &server) != 0) abort();                                           \
        return status == DUO_OK ? *(duo_status *)server : status;                                  \
    }
#define PAIRED(name, prefix, state) {#name, pair_of_##name},

CASES(PAIR)
AT_HOME(PAIR)

static const struct pair pairs[] = {CASES(PAIRED) AT_HOME(PAIRED)};

static int play_pair(const char *name)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(pairs[i].name, name) != 0) continue;
        struct transcript *transcript = transcript_new();
        duo_status status = pairs[i].play(transcript);
        transcript_free(transcript);
        return report(status);
    }
    return 2;
}

static int serve_all(const char *name, const char *address)
{
    duo_listener *listener;
    alarm(900);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (strcmp(runs[i].name, name) != 0) continue;
        // Hostile peers must not hold it up.
        options.hello = 0;
        if (duo_listen(address, &options, &listener) != DUO_OK) return 1;
        printf("listening %s\n", duo_listener_address(listener));
        for (;;) {
            struct transcript *transcript = transcript_new();
            duo_status status = runs[i].server(listener, transcript);
            transcript_free(transcript);
            if (status == DUO_OK) printf("over\n");
            else if (report(status) != 3) return 1;
        }
    }
    return 2;
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

static duo_tls *certificates;

/* The certificates of a party, from the folder that the environment names, if it names one. */
static duo_status secure(const char *party)
{
    const char *folder = getenv("DUOLOGUE_TLS");
    if (folder == NULL) return DUO_OK;
    static char authorities[512], chain[512], key[512];
    snprintf(authorities, sizeof authorities, "%s/ca.pem", folder);
    snprintf(chain, sizeof chain, "%s/%s.pem", folder, party);
    snprintf(key, sizeof key, "%s/%s.key", folder, party);
    const duo_tls_options files = {.authorities_file = authorities, .chain_file = chain, .key_file = key};
    TRY(duo_tls_new(&files, &certificates, &problem));
    options.tls = certificates;
    return DUO_OK;
}

static int play(const char *side, const char *name, const char *address, const char *held)
{
    /* A side that fails must not leave the other one waiting. */
    alarm(300);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (strcmp(runs[i].name, name) != 0) continue;
        struct transcript *transcript = transcript_new();
        if (held != NULL) transcript_hold(transcript, strtoul(held, NULL, 10));
        bool is_server = strcmp(side, "server") == 0;
        duo_status status = secure(side);
        const char *region = region_name(address);
        if (status == DUO_OK && region != NULL) status = share(&runs[i], region, is_server, transcript);
        else if (status == DUO_OK && is_server) status = serve(&runs[i], address, transcript);
        else if (status == DUO_OK) status = runs[i].client(address, transcript);
        transcript_free(transcript);
        duo_tls_free(certificates);
        options.tls = certificates = NULL;
        return report(status);
    }
    fprintf(stderr, "no such case: %s\n", name);
    return 2;
}

static void play_each(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *rest = NULL, *words[4];
        for (size_t i = 0; i < 4; i++) words[i] = strtok_r(i == 0 ? line : NULL, " \n", &rest);
        const char *held = NULL, *option = words[3] == NULL ? "" : words[3];
        if (strncmp(option, "hold=", 5) == 0) held = option + 5;
        int status = words[2] == NULL ? 2 : play(words[0], words[1], words[2], held);
        /* The next line may come after a while. */
        alarm(0);
        fprintf(stderr, "ended %d\n", status);
        printf("ended %d\n", status);
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 3 && strcmp(argv[1], "pair") == 0) return play_pair(argv[2]);
    if (argc == 4 && strcmp(argv[1], "serve") == 0) return serve_all(argv[2], argv[3]);
    if (argc == 4) return play(argv[1], argv[2], argv[3], NULL);
    if (argc != 1) return 2;
    play_each();
    return 0;
}
