/* What generated C knows about a session at compile time is what `duo_open` computes. */
#include "check.h"
#include "duologue/generated.h"
#include "duologue/pipe.h"

static const duo_state nothing = {NULL, 0, DUO_CLIENT, false, 0};

static void check_shape(const duo_protocol *protocol, const duo_shape *known)
{
    duo_endpoint server, client;
    CHECK(duo_open(protocol, &server, &client) == DUO_OK);
    const duo_shape *shape = &client.session->shape;
    CHECK(known->pitch == shape->pitch && known->stride == shape->stride);
    CHECK(known->lines == shape->lines && known->segment == shape->segment);
    CHECK(known->ready == shape->ready);
    CHECK(known->per_line == shape->per_line && known->index_bits == shape->index_bits);
    CHECK(known->unbounded == shape->unbounded);
    CHECK(duo_close(client, &nothing) == DUO_OK);
    CHECK(duo_close(server, &nothing) == DUO_OK);
}

#define WITH(name, capacity, unbounded, payload, messages)                                         \
    DUO_SHAPE(name, capacity, unbounded, payload, messages);                                       \
    static void name(void)                                                                         \
    {                                                                                              \
        const duo_protocol protocol = {capacity, unbounded, payload,                               \
                                       messages, &nothing,  unbounded ? DUO_RING : 0, NULL};       \
        check_shape(&protocol, &name##_shape);                                                     \
    }

WITH(one, 1, false, 8, 1)
WITH(no_space, 0, false, 8, 0)
WITH(two, 2, false, 8, 2)
WITH(a_line, 7, false, 8, 3)
WITH(more_than_a_line, 8, false, 8, 16)
WITH(many_messages, 9, false, 8, 17)
WITH(pairs, 9, false, 16, 2)
WITH(odd, 9, false, 17, 1)
WITH(half, 9, false, 25, 1)
WITH(whole, 3, false, 56, 1)
WITH(large, 3, false, 57, 5)
WITH(larger, 5, false, 1000, 200)
WITH(stream, 64, true, 8, 1)
WITH(choices, 64, true, 8, 16)
WITH(many_choices, 64, true, 8, 255)
WITH(pairs_stream, 64, true, 16, 2)
WITH(large_stream, 64, true, 100, 2)
WITH(huge_stream, 64, true, 5000, 2)

TEST(shape)
{
    one();
    no_space();
    two();
    a_line();
    more_than_a_line();
    many_messages();
    pairs();
    odd();
    half();
    whole();
    large();
    larger();
    stream();
    choices();
    many_choices();
    pairs_stream();
    large_stream();
    huge_stream();
}
