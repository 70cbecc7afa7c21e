/*
 * What is never read is destroyed once, and endpoints inside it are closed in turn, however many and
 * however deep. LeakSanitizer finds what is forgotten, AddressSanitizer what is destroyed twice.
 */
#include "check.h"
#include "golden.h"

static void a_million_messages(void)
{
    enum { MESSAGES = 1000000 };
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    CHECK(numbers_init_with(1 << 20, &in, &out) == DUO_OK);
    for (uint64_t i = 0; i < MESSAGES; i++)
        CHECK(numbers_client_stream_try_send_send(out, i, &out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(numbers_client_stream_try_send_send(out, 0, &out) == DUO_CLOSED);
}

static void text(void)
{
    for (int reader = 0; reader < 2; reader++) {
        bank_server_login_t server = {0};
        bank_client_login_t client = {0};
        bank_client_login_response_t waiting;
        CHECK(bank_init(&server, &client) == DUO_OK);
        CHECK(bank_client_login_send_login(client, DUO_STR("a name"), DUO_STR("a word"),
                                           &waiting) == DUO_OK);
        /* The order in which the two sides close must not matter. */
        if (reader == 0) CHECK(bank_client_login_response_close(waiting) == DUO_OK);
        CHECK(bank_server_login_close(server) == DUO_OK);
        if (reader == 1) CHECK(bank_client_login_response_close(waiting) == DUO_OK);
    }
}

/* Each parcel holds an endpoint of the session whose parcel holds the next. */
static void nested_200000_deep(void)
{
    enum { DEPTH = 200000 };
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    CHECK(numbers_init(&in, &out) == DUO_OK);
    courier_server_carry_t inner = {0};
    courier_client_carry_t client = {0};
    CHECK(courier_init_with(64, &inner, &client) == DUO_OK);
    CHECK(courier_client_carry_send_parcel(client, DUO_STR("innermost"), in, &client) == DUO_OK);
    CHECK(courier_client_carry_send_done(client) == DUO_OK);
    for (int depth = 0; depth < DEPTH; depth++) {
        courier_server_carry_t outer = {0};
        CHECK(courier_init_with(64, &outer, &client) == DUO_OK);
        CHECK(courier_client_carry_send_again(client, inner) == DUO_OK);
        inner = outer;
    }
    CHECK(numbers_client_stream_send_send(out, 1, &out) == DUO_OK);
    CHECK(courier_server_carry_close(inner) == DUO_OK);
    CHECK(numbers_client_stream_send_send(out, 2, &out) == DUO_CLOSED);
}

/* Many in one session: each closes its own. */
static void many_inside_one(void)
{
    enum { PARCELS = 60 };
    numbers_client_stream_t out[PARCELS];
    courier_server_carry_t server = {0};
    courier_client_carry_t client = {0};
    CHECK(courier_init_with(64, &server, &client) == DUO_OK);
    for (int i = 0; i < PARCELS; i++) {
        numbers_server_stream_t in = {0};
        CHECK(numbers_init(&in, &out[i]) == DUO_OK);
        CHECK(courier_client_carry_send_parcel(client, DUO_STR("x"), in, &client) == DUO_OK);
    }
    CHECK(courier_server_carry_close(server) == DUO_OK);
    for (int i = 0; i < PARCELS; i++)
        CHECK(numbers_client_stream_send_send(out[i], 2, &out[i]) == DUO_CLOSED);
    CHECK(courier_client_carry_close(client) == DUO_OK);
}

TEST(unread)
{
    a_million_messages();
    text();
    nested_200000_deep();
    many_inside_one();
}
