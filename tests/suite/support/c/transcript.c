/* The transcript of a case. */
#include "transcript.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Formatted texts, to be freed at the end. */
struct kept {
    struct kept *next;
    char text[];
};

struct transcript {
    pthread_mutex_t lock;
    struct kept *texts;
    /* How many lines there are, and after how many the program is held. */
    size_t lines, held;
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

static void hold(const struct transcript *transcript)
{
    if (transcript->lines != transcript->held) return;
    puts("held");
    fflush(stdout);
    int byte;
    do byte = getchar();
    while (byte != '\n' && byte != EOF);
}

void transcript_hold(struct transcript *transcript, size_t after)
{
    transcript->held = after;
}

void transcript_begin(struct transcript *transcript)
{
    hold(transcript);
}

void transcript_line(struct transcript *transcript, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&transcript->lock);
    vprintf(format, arguments);
    putchar('\n');
    transcript->lines += 1;
    hold(transcript);
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
    /* A session that has ended in another way. */
    if (status == DUO_LOST || status == DUO_LATE || status == DUO_BROKEN) return status;
    fprintf(stderr, "%s:%d: unexpected: %s, message %u\n", file, line, duo_status_text(status), tag);
    return DUO_USED;
}

struct transcript *transcript_new(void)
{
    struct transcript *made = malloc(sizeof *made);
    if (made == NULL) abort();
    pthread_mutex_init(&made->lock, NULL);
    made->texts = NULL;
    made->lines = 0;
    made->held = SIZE_MAX;
    return made;
}

void transcript_free(struct transcript *transcript)
{
    while (transcript->texts != NULL) {
        struct kept *next = transcript->texts->next;
        free(transcript->texts);
        transcript->texts = next;
    }
    pthread_mutex_destroy(&transcript->lock);
    free(transcript);
}
