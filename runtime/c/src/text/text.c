/* Small helpers for text: descriptions of statuses, views of strings, and the report of a message that was misread. */
#include "duologue/tables.h"

#include <string.h>
#ifndef DUO_NO_THREADS
#include <stdio.h>
#include <stdlib.h>
#endif

const char *duo_status_text(duo_status status)
{
    switch (status) {
    case DUO_OK: return "done";
    case DUO_CLOSED: return "the peer closed the session";
    case DUO_USED: return "the endpoint was already used";
    case DUO_FULL: return "the buffer is full";
    case DUO_EMPTY: return "nothing has arrived";
    case DUO_NO_MEMORY: return "memory ran out";
    case DUO_BROKEN: return "the peer violated the protocol";
    case DUO_TOO_LARGE: return "the message, or the region, is too large";
    case DUO_REFUSED: return "the session was refused, for example because the protocols differ";
    case DUO_SYSTEM: return "a system call failed: see errno";
    case DUO_INVALID: return "a value in the message is not valid for its type";
    case DUO_LOST: return "the connection to the peer was lost";
    case DUO_LATE: return "a time limit has passed";
    case DUO_ADDRESS: return "not an address: expected unix:PATH, tcp://HOST:PORT or tls://HOST:PORT";
    case DUO_CERTIFICATES: return "an address tls://HOST:PORT requires certificates: set duo_net_options.tls";
    case DUO_TLS: return "TLS cannot be used";
#ifdef DUO_RECORD
    case DUO_STOPPED: return "a monitor did not allow the message";
#else
    /* Never returned, and a device has no room for its text. */
    case DUO_STOPPED: break;
#endif
    }
    return "not a status";
}

duo_str duo_str_from(const char *text)
{
    duo_str view = {text, text == NULL ? 0 : strlen(text)};
    return view;
}

bool duo_str_equal(duo_str left, duo_str right)
{
    return left.size == right.size &&
           (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

void duo_wrong_message(const char *file, int line, const char *message, const char *found, const char *expected)
{
#ifndef DUO_NO_THREADS
    fprintf(stderr, "%s:%d: %s is `%s`, ", file, line, message, found);
    if (expected != NULL) fprintf(stderr, "but the program reads it as `%s`\n", expected);
    else fprintf(stderr, "which has no handler\n");
    abort();
#else
    (void)file, (void)line, (void)message, (void)found, (void)expected;
    for (;;) {
#ifdef __GNUC__
        __builtin_trap();
#endif
    }
#endif
}
