/* The messages of sessions over a broker, and the names in their subjects, as docs/wire.md defines them. */
#include <errno.h>
#include <string.h>
#ifdef __linux__
#include <sys/random.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

#include "net_broker.h"

enum { VERSION = 1 };

static const char at[] = "duo.at.";

static bool has_counts(duo_packet_kind kind)
{
    return kind <= DUO_PACKET_ANSWER;
}

static bool has_window(duo_packet_kind kind)
{
    return kind == DUO_PACKET_OPEN || kind == DUO_PACKET_ACCEPT;
}

static bool has_bytes(duo_packet_kind kind)
{
    return has_window(kind) || kind == DUO_PACKET_DATA || kind == DUO_PACKET_ALIVE;
}

/* Takes a count of at most 64 bits that is not longer than necessary. */
static bool take_count(const uint8_t **from, const uint8_t *end, uint64_t *count)
{
    *count = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*from == end) return false;
        const uint8_t byte = *(*from)++;
        if (shift == 63 && byte > 1) return false;
        *count |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return byte != 0 || shift == 0;
    }
    return false;
}

bool duo_packet_read(const uint8_t *message, size_t size, duo_packet *packet)
{
    const uint8_t *from = message, *end = message + size;
    memset(packet, 0, sizeof *packet);
    if (size == 0 || *from > DUO_PACKET_ALIVE) return false;
    packet->kind = (duo_packet_kind)*from++;
    if (has_window(packet->kind) && (from == end || *from++ != VERSION)) return false;
    if (has_counts(packet->kind) && (!take_count(&from, end, &packet->number) || !take_count(&from, end, &packet->received) ||
                                     !take_count(&from, end, &packet->read)))
        return false;
    if (has_window(packet->kind) && !take_count(&from, end, &packet->window)) return false;
    packet->bytes = from;
    packet->size = (size_t)(end - from);
    return (packet->size > 0) == has_bytes(packet->kind);
}

static uint8_t *put_count(uint8_t *place, uint64_t count)
{
    for (; count >= 0x80; count >>= 7) *place++ = (uint8_t)(count | 0x80);
    *place++ = (uint8_t)count;
    return place;
}

size_t duo_packet_write_head(uint8_t *message, const duo_packet *packet)
{
    uint8_t *place = message;
    *place++ = (uint8_t)packet->kind;
    if (has_window(packet->kind)) *place++ = VERSION;
    if (has_counts(packet->kind)) {
        place = put_count(place, packet->number);
        place = put_count(place, packet->received);
        place = put_count(place, packet->read);
    }
    if (has_window(packet->kind)) place = put_count(place, packet->window);
    return (size_t)(place - message);
}

static bool is_plain(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '-' || letter == '_';
}

/* Whether this is one or more tokens with dots between them. */
static bool has_tokens(const char *text, size_t size)
{
    bool is_empty = true;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.' ? is_empty : !is_plain(text[i])) return false;
        is_empty = text[i] == '.';
    }
    return !is_empty;
}

const char *duo_name_problem(const char *name)
{
    size_t size = strlen(name);
    if (size > DUO_NAME_LONGEST || !has_tokens(name, size))
        return "a name has at most 128 letters, digits, `-`, `_` and dots between them";
    if (strcmp(name, "at") == 0 || strncmp(name, "at.", 3) == 0) return "names that begin with `at` are for processes";
    return NULL;
}

const char *duo_side_process(const char *address, bool is_side, size_t *process_size)
{
    if (strncmp(address, at, sizeof at - 1) != 0) return NULL;
    const char *process = address + sizeof at - 1, *dot = strrchr(process, '.');
    size_t size = strlen(process);
    if (dot == NULL || size > DUO_SIDE_LONGEST || !has_tokens(process, size)) return NULL;
    const char *token = dot + 1;
    if (is_side && (strlen(token) != DUO_RANDOM_SIZE || strspn(token, "0123456789abcdef") != DUO_RANDOM_SIZE)) return NULL;
    *process_size = (size_t)(dot - process);
    return process;
}

bool duo_random_text(char text[DUO_RANDOM_SIZE + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[DUO_RANDOM_SIZE / 2];
#ifdef __linux__
    /* Without a descriptor: a process that has none left refuses sessions, which takes a token. */
    ptrdiff_t done;
    do done = getrandom(bytes, sizeof bytes, 0);
    while (done < 0 && errno == EINTR);
#else
    int descriptor = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    ptrdiff_t done;
    do done = read(descriptor, bytes, sizeof bytes);
    while (done < 0 && errno == EINTR);
    close(descriptor);
#endif
    if (done != (ptrdiff_t)sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[DUO_RANDOM_SIZE] = '\0';
    return true;
}
