/* Hello and answer, as docs/wire.md defines them. */
#include <string.h>

#include "../net/net.h"
#include "../text/text.h"

enum { RECEIVES_FIRST = 1, HAS_TRACE = 2, HAS_TOKEN = 4, MOST_NAME = 255 };

static const char magic[8] = {'d', 'u', 'o', 'l', 'o', 'g', 'u', 'e'};

static uint32_t number_at(const uint8_t *bytes, size_t size)
{
    uint32_t number = 0;
    for (size_t i = size; i > 0; i--) number = number << 8 | bytes[i - 1];
    return number;
}

static void put_number(uint8_t *bytes, size_t size, uint32_t number)
{
    for (size_t i = 0; i < size; i++, number >>= 8) bytes[i] = (uint8_t)number;
}

duo_net_found duo_net_check_head(const uint8_t *bytes, size_t size, size_t *whole)
{
    *whole = DUO_NET_HEAD;
    if (memcmp(bytes, magic, size < sizeof magic ? size : sizeof magic) != 0) return DUO_NET_ALIEN;
    if (size > 8 && bytes[8] != DUO_NET_VERSION) return DUO_NET_BAD_VERSION;
    if (size < DUO_NET_HEAD) return DUO_NET_MORE;
    unsigned flags = bytes[9];
    size_t rest = number_at(bytes + 10, 2);
    size_t most = flags & HAS_TOKEN ? DUO_NET_MOST_HELLO_WITH_TOKEN : DUO_NET_MOST_HELLO;
    if (flags & ~(unsigned)(RECEIVES_FIRST | HAS_TRACE | HAS_TOKEN)) return DUO_NET_MALFORMED;
    if (rest < DUO_NET_LEAST_HELLO || rest > most) return DUO_NET_MALFORMED;
    *whole = DUO_NET_HEAD + rest;
    return size < *whole ? DUO_NET_MORE : DUO_NET_GOOD;
}

/* The part of a hello that has not been read yet. */
typedef struct rest {
    const uint8_t *at;
    const uint8_t *end;
} rest;

static const uint8_t *take(rest *from, size_t size)
{
    if ((size_t)(from->end - from->at) < size) return NULL;
    const uint8_t *taken = from->at;
    from->at += size;
    return taken;
}

/* A count that is at most `most`. */
static bool take_hello_count(rest *from, size_t most, size_t *count)
{
    size_t taken;
    uint64_t found;
    if (duo_take_count(from->at, (size_t)(from->end - from->at), &taken, &found) != DUO_OK || found > most) return false;
    *count = (size_t)found;
    from->at += taken;
    return true;
}

bool duo_net_read_hello(const uint8_t *bytes, size_t size, duo_net_hello *hello)
{
    memset(hello, 0, sizeof *hello);
    unsigned flags = bytes[9];
    hello->receives_first = (flags & RECEIVES_FIRST) != 0;
    memcpy(&hello->fingerprint, bytes + 12, sizeof hello->fingerprint);
    hello->largest = number_at(bytes + 28, 4);
    if (hello->largest < DUO_NET_LEAST_LARGEST || number_at(bytes + 32, 4) != 0) return false;
    hello->heartbeat = (uint16_t)number_at(bytes + 36, 2);
    rest from = {bytes + 38, bytes + size};
    size_t count;
    if (!take_hello_count(&from, MOST_NAME, &count)) return false;
    const uint8_t *name = take(&from, count);
    if (name == NULL || !duo_is_utf8(name, count)) return false;
    hello->name = (duo_str){(const char *)name, count};
    if (!take_hello_count(&from, DUO_NET_MOST_ACCEPTS, &hello->accepts_count)) return false;
    for (size_t i = 0; i < hello->accepts_count; i++) {
        const uint8_t *accepted = take(&from, sizeof hello->accepts[i]);
        if (accepted == NULL) return false;
        memcpy(&hello->accepts[i], accepted, sizeof hello->accepts[i]);
    }
    if (flags & HAS_TRACE) {
        hello->trace = (duo_bytes){take(&from, DUO_NET_TRACE), DUO_NET_TRACE};
        if (hello->trace.data == NULL) return false;
    }
    if (flags & HAS_TOKEN) {
        hello->has_token = true;
        if (!take_hello_count(&from, DUO_NET_MOST_HELLO_WITH_TOKEN, &count)) return false;
        hello->token = (duo_bytes){take(&from, count), count};
        if (hello->token.data == NULL) return false;
    }
    return from.at == from.end;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t size)
{
    if (size > 0) memcpy(at, bytes, size);
    return at + size;
}

size_t duo_net_write_hello(uint8_t *bytes, const duo_net_hello *hello)
{
    size_t most = hello->has_token ? DUO_NET_MOST_HELLO_WITH_TOKEN : DUO_NET_MOST_HELLO;
    size_t parts = DUO_NET_LEAST_HELLO + MOST_NAME + 16 + hello->accepts_count * sizeof *hello->accepts;
    if (hello->accepts_count > DUO_NET_MOST_ACCEPTS || hello->name.size > MOST_NAME) return 0;
    if (hello->trace.size != 0 && hello->trace.size != DUO_NET_TRACE) return 0;
    if (hello->token.size > most || parts + hello->trace.size + hello->token.size > most) return 0;
    memcpy(bytes, magic, sizeof magic);
    bytes[8] = DUO_NET_VERSION;
    bytes[9] = (uint8_t)((hello->receives_first ? RECEIVES_FIRST : 0) | (hello->trace.size > 0 ? HAS_TRACE : 0) |
                         (hello->has_token ? HAS_TOKEN : 0));
    uint8_t *at = put_bytes(bytes + 12, &hello->fingerprint, sizeof hello->fingerprint);
    put_number(at, 4, hello->largest);
    put_number(at + 4, 4, 0);
    put_number(at + 8, 2, hello->heartbeat);
    at += 10;
    at += duo_put_count(at, hello->name.size);
    at = put_bytes(at, hello->name.data, hello->name.size);
    at += duo_put_count(at, hello->accepts_count);
    at = put_bytes(at, hello->accepts, hello->accepts_count * sizeof *hello->accepts);
    at = put_bytes(at, hello->trace.data, hello->trace.size);
    if (hello->has_token) {
        at += duo_put_count(at, hello->token.size);
        at = put_bytes(at, hello->token.data, hello->token.size);
    }
    put_number(bytes + 10, 2, (uint32_t)(at - bytes) - DUO_NET_HEAD);
    return (size_t)(at - bytes);
}

size_t duo_net_write_answer(uint8_t *bytes, const duo_net_answer *answer)
{
    memcpy(bytes, magic, sizeof magic);
    bytes[8] = DUO_NET_VERSION;
    bytes[9] = (uint8_t)answer->verdict;
    bool begins = answer->verdict < DUO_VERDICT_UNKNOWN_PROTOCOL;
    put_number(bytes + 10, 2, begins ? DUO_NET_ANSWER : DUO_NET_REFUSAL);
    if (!begins) {
        put_number(bytes + 12, 4, answer->wait);
        return DUO_NET_HEAD + DUO_NET_REFUSAL;
    }
    uint8_t *at = put_bytes(bytes + 12, &answer->fingerprint, sizeof answer->fingerprint);
    put_number(at, 4, answer->largest);
    put_number(at + 4, 4, 0);
    put_number(at + 8, 2, answer->heartbeat);
    return DUO_NET_HEAD + DUO_NET_ANSWER;
}

bool duo_net_read_answer(const uint8_t *bytes, size_t size, duo_net_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    if (size < DUO_NET_HEAD || memcmp(bytes, magic, sizeof magic) != 0) return false;
    answer->verdict = bytes[9];
    size_t said = number_at(bytes + 10, 2);
    if (answer->verdict >= DUO_VERDICT_UNKNOWN_PROTOCOL) {
        /* The version is the newest that the other side knows, and may be a later one. */
        if (said != DUO_NET_REFUSAL) return false;
        if (size >= DUO_NET_HEAD + DUO_NET_REFUSAL) answer->wait = number_at(bytes + 12, 4);
        return true;
    }
    if (said != DUO_NET_ANSWER || bytes[8] != DUO_NET_VERSION) return false;
    if (answer->verdict > DUO_VERDICT_ACCEPTED) return false;
    if (size < DUO_NET_HEAD + DUO_NET_ANSWER) return true;
    memcpy(&answer->fingerprint, bytes + 12, sizeof answer->fingerprint);
    answer->largest = number_at(bytes + 28, 4);
    answer->heartbeat = (uint16_t)number_at(bytes + 36, 2);
    return answer->largest >= DUO_NET_LEAST_LARGEST && number_at(bytes + 32, 4) == 0;
}
