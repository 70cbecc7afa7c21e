/* Sessions of numbers that are alike and others, in every order: both sides go through the same random list. */
#ifndef MIX_H
#define MIX_H

#include "check.h"
#include "mixed.h"
#include "waits.h"

/*
 * One of `count` messages, usually the one before; in some parts of the list most lines are full of one message, in
 * others few are.
 */
static inline unsigned choose(uint64_t *seed, int n, unsigned before, unsigned count)
{
    uint64_t others = n / 1000 % 2 == 0 ? 4 : 64;
    return draw(seed) % others > 0 && before < count ? before : (unsigned)(draw(seed) % count);
}

static inline void say_all(mixed_client_one_t one, uint64_t seed, int messages)
{
    mixed_client_two_t two = {0};
    bool is_two = false;
    unsigned kind = 0;
    uint8_t text[70] = {0};
    for (int n = 0; n < messages; n++) {
        kind = choose(&seed, n, kind, is_two ? 4 : 6);
        uint64_t value = draw(&seed);
        duo_bytes bytes = {text, (size_t)(value % sizeof text)};
        duo_status status = DUO_USED;
        if (!is_two) {
            switch (kind) {
            case 0: status = mixed_client_one_send_a(one, value, &one); break;
            case 1: status = mixed_client_one_send_b(one, (int64_t)value, &one); break;
            case 2: status = mixed_client_one_send_c(one, (uint32_t)value, (uint32_t)(value >> 32), &one); break;
            case 3: status = mixed_client_one_send_d(one, (uint8_t)value, &one); break;
            case 4: status = mixed_client_one_send_e(one, (double)value, &two); break;
            default: status = mixed_client_one_send_f(one, &one); break;
            }
            is_two = kind == 4;
        } else {
            switch (kind) {
            case 0: status = mixed_client_two_send_g(two, value, &two); break;
            case 1: status = mixed_client_two_send_h(two, value, ~value, &two); break;
            case 2: status = mixed_client_two_send_i(two, value, &one); break;
            default: status = mixed_client_two_send_j(two, bytes, &one); break;
            }
            is_two = kind < 2;
        }
        CHECK(status == DUO_OK);
        if (value % 16384 == 0) take_a_moment();
    }
    if (is_two) CHECK(mixed_client_two_send_i(two, 0, &one) == DUO_OK);
    CHECK(mixed_client_one_send_end(one) == DUO_OK);
}

/* Receives one message in the first state, in one of the ways that there are; returns whether it led to the second. */
static inline bool hear_one(mixed_server_one_t *one, mixed_server_two_t *two, unsigned kind, uint64_t value)
{
    mixed_one_t got;
    duo_status status = DUO_EMPTY;
    uint64_t how = value >> 8;
    if (how % 64 == 0) wait_by(BY_SELECT, DUO_READY(*one));
    while (how % 4 == 0 && status == DUO_EMPTY) status = mixed_server_one_try_recv(*one, &got);
    if (status == DUO_EMPTY) status = mixed_server_one_recv(*one, &got);
    CHECK(status == DUO_OK && got.tag == kind + 1);
    switch (got.tag) {
    case MIXED_ONE_A:
        CHECK(got.as.a.value == value);
        *one = got.as.a.next;
        break;
    case MIXED_ONE_B:
        CHECK(got.as.b.value == (int64_t)value);
        *one = got.as.b.next;
        break;
    case MIXED_ONE_C:
        CHECK(got.as.c.value_0 == (uint32_t)value && got.as.c.value_1 == (uint32_t)(value >> 32));
        *one = got.as.c.next;
        break;
    case MIXED_ONE_D:
        CHECK(got.as.d.value == (uint8_t)value);
        *one = got.as.d.next;
        break;
    case MIXED_ONE_E:
        CHECK(got.as.e.value == (double)value);
        *two = got.as.e.next;
        return true;
    case MIXED_ONE_F: *one = got.as.f.next; break;
    case MIXED_ONE_END: break;
    }
    return false;
}

static inline bool hear_two(mixed_server_one_t *one, mixed_server_two_t *two, unsigned kind, uint64_t value)
{
    mixed_two_t got;
    CHECK(mixed_server_two_recv(*two, &got) == DUO_OK && got.tag == kind + 1);
    bool stays = false;
    switch (got.tag) {
    case MIXED_TWO_G:
        CHECK(got.as.g.value == value);
        *two = got.as.g.next;
        stays = true;
        break;
    case MIXED_TWO_H:
        CHECK(got.as.h.value_0 == value && got.as.h.value_1 == ~value);
        *two = got.as.h.next;
        stays = true;
        break;
    case MIXED_TWO_I:
        CHECK(got.as.i.value == value);
        *one = got.as.i.next;
        break;
    case MIXED_TWO_J:
        CHECK(got.as.j.value.size == value % 70);
        *one = got.as.j.next;
        break;
    }
    mixed_two_free(&got);
    return stays;
}

static inline void hear_all(mixed_server_one_t one, uint64_t seed, int messages)
{
    mixed_server_two_t two = {0};
    bool is_two = false;
    unsigned kind = 0;
    for (int n = 0; n < messages; n++) {
        kind = choose(&seed, n, kind, is_two ? 4 : 6);
        uint64_t value = draw(&seed);
        is_two = is_two ? hear_two(&one, &two, kind, value) : hear_one(&one, &two, kind, value);
    }
    if (is_two) hear_two(&one, &two, 2, 0);
    mixed_server_one_t used = one;
    CHECK(!hear_one(&one, &two, 6, 0));
    mixed_one_t got;
    CHECK(mixed_server_one_try_recv(used, &got) == DUO_USED);
}

#endif
