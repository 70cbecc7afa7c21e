/* The messages, addresses and names of `tests/wire/brokers.txt`, read and written. */
#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "net_broker.h"

enum { MOST = 1024, KINDS = DUO_PACKET_ALIVE + 1 };

static const char *const names[KINDS] = {"open", "accept", "data", "end", "ask", "answer", "lost", "gone", "alive"};

/* The bytes of a hexadecimal text; `-` stands for none. */
static size_t unhex(const char *text, uint8_t bytes[MOST])
{
    size_t size = 0;
    if (strcmp(text, "-") == 0) return 0;
    for (; text[0] != '\0'; text += 2) {
        unsigned byte;
        CHECK(size < MOST && sscanf(text, "%2x", &byte) == 1);
        bytes[size++] = (uint8_t)byte;
    }
    return size;
}

static void check_packet(const char *kind, const char *hex, const char *parts)
{
    static char rest[MOST];
    static uint8_t message[MOST], bytes[MOST], head[DUO_PACKET_HEAD];
    duo_packet expected = {.kind = DUO_PACKET_OPEN}, found;
    while (strcmp(names[expected.kind], kind) != 0) expected.kind++;
    CHECK(sscanf(parts, "number=%" SCNu64 " received=%" SCNu64 " read=%" SCNu64 " window=%" SCNu64 " bytes=%1023s", &expected.number,
                 &expected.received, &expected.read, &expected.window, rest) == 5);
    size_t size = unhex(hex, message);
    expected.size = unhex(rest, bytes);
    CHECK(duo_packet_read(message, size, &found));
    CHECK(found.kind == expected.kind && found.number == expected.number && found.received == expected.received);
    CHECK(found.read == expected.read && found.window == expected.window && found.size == expected.size);
    CHECK(memcmp(found.bytes, bytes, found.size) == 0);
    size_t head_size = duo_packet_write_head(head, &expected);
    CHECK(head_size + expected.size == size && memcmp(head, message, head_size) == 0);
    /* Whatever is cut off, it is rejected or has fewer bytes of the stream. */
    for (size_t cut = 0; cut < size; cut++)
        CHECK(!duo_packet_read(message, cut, &found) || (found.size < expected.size && found.kind == expected.kind));
}

int main(void)
{
    static char line[MOST], kind[16], one[MOST], other[MOST];
    static uint8_t bytes[MOST];
    unsigned counts[6] = {0};
    FILE *file = fopen(BROKERS, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || line[0] == '\n') continue;
        int after = 0, words = sscanf(line, "%15s %1023s %1023s %n", kind, one, other, &after);
        size_t size;
        duo_packet packet;
        CHECK(words >= 2);
        if (strcmp(kind, "packet") == 0) {
            check_packet(one, other, line + after);
            counts[0]++;
        } else if (strcmp(kind, "bad") == 0) {
            CHECK(!duo_packet_read(bytes, unhex(other, bytes), &packet));
            counts[1]++;
        } else if (strcmp(kind, "address") == 0) {
            const char *process = duo_side_process(one, true, &size);
            CHECK(process != NULL && size == strlen(other) && memcmp(process, other, size) == 0);
            counts[2]++;
        } else if (strcmp(kind, "bad_address") == 0) {
            CHECK(duo_side_process(one, true, &size) == NULL);
            counts[3]++;
        } else {
            bool is_good = strcmp(kind, "name") == 0;
            CHECK(is_good || strcmp(kind, "bad_name") == 0);
            CHECK((duo_name_problem(one) == NULL) == is_good);
            counts[is_good ? 4 : 5]++;
        }
    }
    fclose(file);
    for (unsigned i = 0; i < 6; i++) CHECK(counts[i] > 3);
    /* Two random numbers differ. */
    CHECK(duo_random_text(one) && duo_random_text(other) && strcmp(one, other) != 0 && strlen(one) == DUO_RANDOM_SIZE);
    return 0;
}
