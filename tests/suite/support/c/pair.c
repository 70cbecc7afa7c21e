/* The two threads that run a case; or the two processes, if the case's header says how each attaches its side. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"
#include "transcript.h"

#ifdef DUO_RECORD
#include "duologue/record.h"
#endif

struct program {
    struct transcript *transcript;
    duo_status status;
    CASE_SERVER_TYPE server;
    CASE_CLIENT_TYPE client;
};

static void *run_server(void *context)
{
    struct program *program = context;
    program->status = CASE_SERVER(program->server, program->transcript);
    return NULL;
}

static void *run_client(void *context)
{
    struct program *program = context;
    program->status = CASE_CLIENT(program->client, program->transcript);
    return NULL;
}

/* What to report at the end of a side. */
static int told(const char *side, duo_status status)
{
    if (status != DUO_OK) fprintf(stderr, "%s: %s\n", side, duo_status_text(status));
    return status == DUO_OK ? 0 : 1;
}

#ifdef CASE_CLIENT_ATTACH

/* The server in a child process, over memory that both share. */
static int run(struct program *server, struct program *client)
{
    int region;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (duo_shm_create(CASE_ROOM, &region) != DUO_OK) return 2;
    pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
        /* A side that fails must not leave the other one waiting. */
        alarm(300);
        if (CASE_SERVER_ATTACH(region, NULL, &server->server) != DUO_OK) return 2;
        run_server(server);
        return told("server", server->status);
    }
    if (CASE_CLIENT_ATTACH(region, NULL, &client->client) != DUO_OK) return 2;
    close(region);
    run_client(client);
    int ended;
    if (waitpid(child, &ended, 0) != child || !WIFEXITED(ended)) return 2;
    return told("client", client->status) | WEXITSTATUS(ended);
}

#else

static int run(struct program *server, struct program *client)
{
    if (CASE_INIT(&server->server, &client->client) != DUO_OK) return 2;
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, run_server, server) != 0) return 2;
    if (pthread_create(&threads[1], NULL, run_client, client) != 0) return 2;
    for (int i = 0; i < 2; i++)
        if (pthread_join(threads[i], NULL) != 0) return 2;
    return told("server", server->status) | told("client", client->status);
}

#endif

int main(void)
{
#ifdef DUO_RECORD
    FILE *log = fopen(getenv("CASE_LOG"), "a");
    if (log == NULL || duo_record_to(log, CASE_NAME, 1 << 20) != DUO_OK) return 3;
#endif
    struct transcript *transcript = transcript_new();
    struct program server = {.transcript = transcript};
    struct program client = {.transcript = transcript};
    int outcome = run(&server, &client);
#ifdef DUO_RECORD
    if (duo_record_stop() != 0 || fclose(log) != 0) return 3;
#endif
    transcript_free(transcript);
    return outcome;
}
