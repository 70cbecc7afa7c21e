/* What the programs of tests/run share in C: the transcript, and reports of what must not happen. */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include "duologue.h"

struct transcript;

struct transcript *transcript_new(void);
void transcript_free(struct transcript *transcript);

/* The program is held after this many lines: it prints `held`, and waits until a line is written to its input. */
void transcript_hold(struct transcript *transcript, size_t after);

/* The session has begun. */
void transcript_begin(struct transcript *transcript);

/* Writes one line. */
__attribute__((format(printf, 2, 3))) void transcript_line(struct transcript *transcript,
                                                           const char *format, ...);

/* Texts as the transcript shows them; they live as long as it does. */
const char *quoted(struct transcript *transcript, duo_str text);
const char *hex(struct transcript *transcript, duo_bytes bytes);
/* A formatted text, like one of `printf`. */
__attribute__((format(printf, 2, 3))) const char *text(struct transcript *transcript,
                                                       const char *format, ...);

/* Reports that something other than the expected message came, and returns a status that is not a success. */
duo_status unexpected(const char *file, int line, duo_status status, unsigned tag);

/* Continues only if the operation succeeded. */
#define TRY(operation)                                                                             \
    do {                                                                                           \
        duo_status tried = (operation);                                                            \
        if (tried != DUO_OK) return tried;                                                         \
    } while (0)

/* Continues only with this message. */
#define EXPECT(message, wanted)                                                                    \
    do {                                                                                           \
        if ((message).tag != (wanted))                                                             \
            return unexpected(__FILE__, __LINE__, DUO_OK, (unsigned)(message).tag);                \
    } while (0)

/* Continues only if the peer has closed its side. */
#define EXPECT_CLOSED(operation)                                                                   \
    do {                                                                                           \
        duo_status ended = (operation);                                                            \
        if (ended != DUO_CLOSED) return unexpected(__FILE__, __LINE__, ended, 0);                  \
    } while (0)

#endif
