/*
 * libFuzzer against the reader: the input is what a peer has written into the region, first the lines that
 * the reader reads, then the bytes of long messages; or, if its first byte is odd, one payload.
 *
 *   clang -g -fsanitize=fuzzer,address,undefined ... fuzz.c && ./a.out corpus
 */
#include "attack.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const uint8_t *data, size_t size)
{
    const duo_wire *wire = duo_wire_of_payloads.wires[data[0] / 2 % 26].entries;
    size_t taken, space;
    data += 1;
    size -= 1;
    if (wire == NULL || !duo_wire_check(wire, data, size, &taken, &space)) return;
    payloads_all_t message;
    memset(&message, 0, sizeof message);
    char *items = malloc(space + 1);
    CHECK(items != NULL);
    duo_wire_decode(wire, data, &message.as, items);
    size_t measured;
    CHECK(duo_wire_measure(wire, &message.as, &measured) == DUO_OK && measured == taken);
    char *written = malloc(measured + 1);
    CHECK(written != NULL);
    duo_wire_writer writer = {written, written + measured, NULL};
    CHECK(duo_wire_encode(wire, &message.as, &writer));
    CHECK(memcmp(written, data, taken) == 0);
    free(written);
    free(items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (data[0] % 2 == 1) {
        decode(data, size);
        return 0;
    }
    attack made = begin_attack();
    duo_shm_line *lines = (duo_shm_line *)(void *)(made.head + 1);
    size_t head = size - 1 < 512 ? size - 1 : 512;
    memcpy(lines, data + 1, head);
    size_t rest = size - 1 - head;
    memcpy(lines + DUO_SHM_LINES, data + 1 + head, rest < 4096 ? rest : 4096);
    read_some(&made, 100);
    end_attack(&made);
    return 0;
}
