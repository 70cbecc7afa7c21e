/*
 * The transcript of a case, and the two threads that write it; or the two processes, if the case's
 * header says how each attaches its side.
 */
#include "transcript.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"

/* Formatted texts, to be freed at the end. */
struct kept {
    struct kept *next;
    char text[];
};

struct transcript {
    pthread_mutex_t lock;
    struct kept *texts;
};

static char *keep(struct transcript *transcript, size_t size)
{
    struct kept *kept = malloc(sizeof *kept + size + 1);
    if (kept == NULL) abort();
    pthread_mutex_lock(&transcript->lock);
    kept->next = transcript->texts;
    transcript->texts = kept;
    pthread_mutex_unlock(&transcript->lock);
    return kept->text;
}

void transcript_line(struct transcript *transcript, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&transcript->lock);
    vprintf(format, arguments);
    putchar('\n');
    pthread_mutex_unlock(&transcript->lock);
    va_end(arguments);
}

const char *quoted(struct transcript *transcript, duo_str text)
{
    char *shown = keep(transcript, 2 * text.size + 2);
    char *end = shown;
    *end++ = '"';
    for (size_t i = 0; i < text.size; i++) {
        char letter = text.data[i];
        if (letter == '"' || letter == '\\' || letter == '\n') *end++ = '\\';
        *end++ = letter == '\n' ? 'n' : letter;
    }
    *end++ = '"';
    *end = '\0';
    return shown;
}

const char *hex(struct transcript *transcript, duo_bytes bytes)
{
    char *shown = keep(transcript, 2 * bytes.size + 2);
    char *end = shown;
    *end++ = '<';
    for (size_t i = 0; i < bytes.size; i++) end += sprintf(end, "%02x", bytes.data[i]);
    *end++ = '>';
    *end = '\0';
    return shown;
}

const char *text(struct transcript *transcript, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) abort();
    char *shown = keep(transcript, (size_t)size);
    va_start(arguments, format);
    vsnprintf(shown, (size_t)size + 1, format, arguments);
    va_end(arguments);
    return shown;
}

duo_status unexpected(const char *file, int line, duo_status status, unsigned tag)
{
    fprintf(stderr, "%s:%d: unexpected: %s, message %u\n", file, line, duo_status_text(status), tag);
    return DUO_USED;
}

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

static void forget(struct transcript *transcript)
{
    while (transcript->texts != NULL) {
        struct kept *next = transcript->texts->next;
        free(transcript->texts);
        transcript->texts = next;
    }
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
        alarm(60);
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
    struct transcript transcript = {PTHREAD_MUTEX_INITIALIZER, NULL};
    struct program server = {.transcript = &transcript};
    struct program client = {.transcript = &transcript};
    int outcome = run(&server, &client);
    forget(&transcript);
    return outcome;
}
