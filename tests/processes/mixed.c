/* Numbers that are alike and others, in every order: both sides go through the same random list. */
#include "mixed_shm.h"
#include "talk.h"

enum { MESSAGES = 300000 };

static uint64_t seed;

static uint64_t any(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/*
 * One of `count` messages, usually the one before; in some parts of the list most lines are full of one message, in
 * others few are.
 */
static unsigned choose(int n, unsigned before, unsigned count)
{
    uint64_t others = n / 1000 % 2 == 0 ? 4 : 64;
    return any() % others > 0 && before < count ? before : (unsigned)(any() % count);
}

static void say_all(int region)
{
    mixed_client_one_t one;
    mixed_client_two_t two;
    CHECK(mixed_client_attach(region, NULL, &one) == DUO_OK);
    bool is_two = false;
    unsigned kind = 0;
    uint8_t text[70] = {0};
    for (int n = 0; n < MESSAGES; n++) {
        kind = choose(n, kind, is_two ? 4 : 6);
        uint64_t value = any();
        duo_bytes bytes = {text, (size_t)(value % sizeof text)};
        duo_status status = DUO_USED;
        if (!is_two) {
            switch (kind) {
            case 0: status = mixed_client_one_send_a(one, value, &one); break;
            case 1: status = mixed_client_one_send_b(one, (int64_t)value, &one); break;
            case 2: status = mixed_client_one_send_c(one, (uint32_t)value, 7, &one); break;
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
    }
    if (is_two) CHECK(mixed_client_two_send_i(two, 0, &one) == DUO_OK);
    CHECK(mixed_client_one_send_end(one) == DUO_OK);
}

/* Receives one message in the first state; returns whether it led to the second. */
static bool hear_one(mixed_server_one_t *one, mixed_server_two_t *two, unsigned kind, uint64_t value)
{
    mixed_one_t got;
    CHECK(mixed_server_one_recv(*one, &got) == DUO_OK && got.tag == kind + 1);
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
        CHECK(got.as.c.value_0 == (uint32_t)value && got.as.c.value_1 == 7);
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

static bool hear_two(mixed_server_one_t *one, mixed_server_two_t *two, unsigned kind, uint64_t value)
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

static void hear_all(int region)
{
    mixed_server_one_t one;
    mixed_server_two_t two;
    CHECK(mixed_server_attach(region, NULL, &one) == DUO_OK);
    bool is_two = false;
    unsigned kind = 0;
    for (int n = 0; n < MESSAGES; n++) {
        kind = choose(n, kind, is_two ? 4 : 6);
        uint64_t value = any();
        is_two = is_two ? hear_two(&one, &two, kind, value) : hear_one(&one, &two, kind, value);
    }
    if (is_two) hear_two(&one, &two, 2, 0);
    mixed_server_one_t used = one;
    CHECK(!hear_one(&one, &two, 6, 0));
    mixed_one_t got;
    CHECK(mixed_server_one_try_recv(used, &got) == DUO_USED);
}

TEST(mixed)
{
    for (uint64_t round = 1; round <= 3; round++) {
        seed = 88172645463325252u * round;
        int region = region_of(4096);
        pid_t child = start_child(hear_all, region);
        say_all(region);
        finish_child(child);
        close(region);
    }
}
