/*
 * Dialogues in which runs of one number alternate with all other kinds of runs, and each way to wait with
 * the others.
 */
#include "duologue/ready.h"
#include "talk.h"
#include "turns_shm.h"

enum { MESSAGES = 50000 };

/* What both sides compute: which message comes next, and what is in it. */
typedef struct script {
    uint64_t seed;
    unsigned kind;
    uint64_t value;
} script;

static void step(script *at)
{
    uint64_t any = draw(&at->seed);
    /* Usually the same as before. */
    if (any % 8 == 0) at->kind = (unsigned)(any >> 8) % 7;
    at->value = any >> 16;
}

static const uint8_t text[90];

static duo_bytes bytes_of(const script *at)
{
    return (duo_bytes){text, (size_t)(at->value % sizeof text)};
}

/* Receives in one of many ways; the endpoint is ready or becomes ready. */
#define HEAR(receive, try_receive, within, endpoint, got)                                          \
    do {                                                                                           \
        duo_status heard_ = DUO_EMPTY;                                                             \
        duo_endpoint set_ = DUO_READY(endpoint);                                                   \
        size_t which_;                                                                             \
        switch (draw(&way) % 16) {                                                              \
        case 0:                                                                                    \
            while (heard_ == DUO_EMPTY) heard_ = try_receive(endpoint, got);                       \
            break;                                                                                 \
        case 1:                                                                                    \
            while (heard_ == DUO_EMPTY) heard_ = within(endpoint, 1000, got);                      \
            break;                                                                                 \
        case 2:                                                                                    \
            CHECK(duo_select(&set_, 1, DUO_FOREVER, &which_) == DUO_OK);                           \
            heard_ = try_receive(endpoint, got);                                                   \
            break;                                                                                 \
        default: heard_ = receive(endpoint, got); break;                                           \
        }                                                                                          \
        CHECK(heard_ == DUO_OK);                                                                   \
    } while (0)

static uint64_t way;

/* Passes one message from the client; returns whether the server sends next. */
static bool there_out(turns_client_there_t *there, turns_client_back_t *back, const script *at)
{
    duo_status status = DUO_USED;
    switch (at->kind) {
    case 0: status = turns_client_there_send_a(*there, at->value, back); break;
    case 1: status = turns_client_there_send_b(*there, at->value, -1, back); break;
    case 2: status = turns_client_there_send_c(*there, back); break;
    case 3: status = turns_client_there_send_d(*there, at->value, there); break;
    case 4: status = turns_client_there_send_e(*there, (uint32_t)at->value, back); break;
    case 5: status = turns_client_there_send_f(*there, bytes_of(at), back); break;
    /* One number more than a line has space for. */
    default: status = turns_client_there_send_g(*there, 0, 1, 2, 3, 4, 5, 6, at->value, back); break;
    }
    CHECK(status == DUO_OK);
    return at->kind != 3;
}

static bool back_in(turns_client_there_t *there, turns_client_back_t *back, const script *at)
{
    turns_back_t got;
    HEAR(turns_client_back_recv, turns_client_back_try_recv, turns_client_back_recv_within, *back, &got);
    CHECK(got.tag == at->kind + 1);
    bool stays = false;
    switch (got.tag) {
    case TURNS_BACK_A:
        CHECK(got.as.a.value == at->value);
        *there = got.as.a.next;
        break;
    case TURNS_BACK_B:
        CHECK(got.as.b.value_0 == (double)at->value && got.as.b.value_1 == 7);
        *there = got.as.b.next;
        break;
    case TURNS_BACK_C: *there = got.as.c.next; break;
    case TURNS_BACK_D:
        CHECK(got.as.d.value == at->value);
        *back = got.as.d.next;
        stays = true;
        break;
    case TURNS_BACK_E:
        CHECK(got.as.e.value == (uint32_t)at->value);
        *there = got.as.e.next;
        break;
    case TURNS_BACK_F:
        CHECK(got.as.f.value.size == bytes_of(at).size);
        *there = got.as.f.next;
        break;
    case TURNS_BACK_G:
        CHECK(got.as.g.value_6 == 6 && got.as.g.value_7 == at->value);
        *there = got.as.g.next;
        break;
    }
    turns_back_free(&got);
    return stays;
}

static bool there_in(turns_server_there_t *there, turns_server_back_t *back, const script *at)
{
    turns_there_t got;
    HEAR(turns_server_there_recv, turns_server_there_try_recv, turns_server_there_recv_within, *there, &got);
    CHECK(got.tag == at->kind + 1);
    bool turns = true;
    switch (got.tag) {
    case TURNS_THERE_A:
        CHECK(got.as.a.value == at->value);
        *back = got.as.a.next;
        break;
    case TURNS_THERE_B:
        CHECK(got.as.b.value_0 == at->value && got.as.b.value_1 == -1);
        *back = got.as.b.next;
        break;
    case TURNS_THERE_C: *back = got.as.c.next; break;
    case TURNS_THERE_D:
        CHECK(got.as.d.value == at->value);
        *there = got.as.d.next;
        turns = false;
        break;
    case TURNS_THERE_E:
        CHECK(got.as.e.value == (uint32_t)at->value);
        *back = got.as.e.next;
        break;
    case TURNS_THERE_F:
        CHECK(got.as.f.value.size == bytes_of(at).size);
        *back = got.as.f.next;
        break;
    case TURNS_THERE_G:
        CHECK(got.as.g.value_6 == 6 && got.as.g.value_7 == at->value);
        *back = got.as.g.next;
        break;
    case TURNS_THERE_END: CHECK(false); break;
    }
    turns_there_free(&got);
    return turns;
}

static bool back_out(turns_server_there_t *there, turns_server_back_t *back, const script *at)
{
    duo_status status = DUO_USED;
    switch (at->kind) {
    case 0: status = turns_server_back_send_a(*back, at->value, there); break;
    case 1: status = turns_server_back_send_b(*back, (double)at->value, 7, there); break;
    case 2: status = turns_server_back_send_c(*back, there); break;
    case 3: status = turns_server_back_send_d(*back, at->value, back); break;
    case 4: status = turns_server_back_send_e(*back, (uint32_t)at->value, there); break;
    case 5: status = turns_server_back_send_f(*back, bytes_of(at), there); break;
    default: status = turns_server_back_send_g(*back, 0, 1, 2, 3, 4, 5, 6, at->value, there); break;
    }
    CHECK(status == DUO_OK);
    return at->kind == 3;
}

static void answer(int region)
{
    way = 99;
    turns_server_there_t there;
    turns_server_back_t back = {0};
    CHECK(turns_server_attach(region, NULL, &there) == DUO_OK);
    script at = {.seed = 12345};
    bool is_back = false;
    for (int n = 0; n < MESSAGES || is_back; n++) {
        step(&at);
        if (n >= MESSAGES) at.kind = 0;
        is_back = is_back ? back_out(&there, &back, &at) : there_in(&there, &back, &at);
    }
    turns_there_t got;
    CHECK(turns_server_there_recv(there, &got) == DUO_OK && got.tag == TURNS_THERE_END);
}

TEST(turns)
{
    way = 7;
    int region = region_of(4096);
    pid_t child = start_child(answer, region);
    turns_client_there_t there;
    turns_client_back_t back = {0};
    CHECK(turns_client_attach(region, NULL, &there) == DUO_OK);
    script at = {.seed = 12345};
    bool is_back = false;
    for (int n = 0; n < MESSAGES || is_back; n++) {
        step(&at);
        if (n >= MESSAGES) at.kind = 0;
        is_back = is_back ? back_in(&there, &back, &at) : there_out(&there, &back, &at);
    }
    turns_client_there_t stale = there;
    CHECK(turns_client_there_send_end(there) == DUO_OK);
    CHECK(turns_client_there_send_a(stale, 1, &back) == DUO_USED);
    finish_child(child);
}
