/* What a peer may write into a region that a correct one would not. */
#ifndef GARBAGE_H
#define GARBAGE_H

#include "attack.h"

static uint64_t seed = 88172645463325252u;

static inline uint64_t any(void)
{
    return draw(&seed);
}

/* The word of a line full of numbers, the first time that it is used. */
static const uint64_t all_numbers = DUO_SHM_PARITY | DUO_SHM_CELLS << DUO_SHM_COUNT_SHIFT | DUO_SHM_FULL |
                                    (PAYLOADS_ALL_U64 - 1) * DUO_SHM_ALIKE << DUO_SHM_TAG_SHIFT;

/* Words that look right, with everything else at random. */
static inline void write_lines(attack *made)
{
    duo_shm_line *lines = (duo_shm_line *)(void *)(made->head + 1);
    uint64_t count = 1 + any() % 12;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word = any();
        if (any() % 4 != 0) word |= DUO_SHM_PARITY;
        if (any() % 3 != 0) word &= ~(DUO_SHM_LONG | DUO_SHM_MORE);
        if (any() % 8 != 0) word &= UINT64_C(0x1f1f1f1f1f1f1fff);
        for (size_t at = 0; at < sizeof lines[i].cells; at++)
            lines[i].cells[at] = (char)(any() % 3 == 0 ? any() : any() % 6);
        if (word & DUO_SHM_LONG) {
            uint64_t head[2] = {any() % 2000, any() % 3000};
            if (any() % 2 == 0) {
                head[1] = head[0];
                word = (word & ~(DUO_SHM_MORE | UINT64_C(14))) | 2;
            }
            memcpy(lines[i].cells, head, sizeof head);
        }
        if (any() % 4 == 0) word = all_numbers;
        if (any() % 16 == 0) word ^= UINT64_C(1) << any() % 64;
        atomic_store(&lines[i].word, word);
    }
    char *bytes = (char *)(lines + DUO_SHM_LINES);
    for (size_t at = 0; at < 4096; at++) bytes[at] = (char)(any() % 3 == 0 ? any() : any() % 6);
}

static inline void write_anything(attack *made, size_t from, size_t size)
{
    char *bytes = (char *)made->head + from;
    for (size_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word = any();
        memcpy(bytes + at, &word, sizeof word);
    }
}

/* Ends `write_on`. */
static _Atomic bool done;

/* A thread that writes all the time. */
static void *write_on(void *context)
{
    attack *made = context;
    while (!atomic_load(&done)) {
        write_lines(made);
        write_anything(made, 64, sizeof(duo_shm_head) - 64);
        if (any() % 8 == 0) write_anything(made, 64, made->size - 64);
    }
    return NULL;
}

#endif
