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

/* A name, and the arguments of DUO_SHAPE. */
#define SHAPES(X)                                                                                  \
    X(one, 1, false, 8, 1)                                                                         \
    X(no_space, 0, false, 8, 0)                                                                    \
    X(two, 2, false, 8, 2)                                                                         \
    X(a_line, 7, false, 8, 3)                                                                      \
    X(more_than_a_line, 8, false, 8, 16)                                                           \
    X(many_messages, 9, false, 8, 17)                                                              \
    X(pairs, 9, false, 16, 2)                                                                      \
    X(odd, 9, false, 17, 1)                                                                        \
    X(half, 9, false, 25, 1)                                                                       \
    X(whole, 3, false, 56, 1)                                                                      \
    X(large, 3, false, 57, 5)                                                                      \
    X(larger, 5, false, 1000, 200)                                                                 \
    X(stream, 64, true, 8, 1)                                                                      \
    X(choices, 64, true, 8, 16)                                                                    \
    X(many_choices, 64, true, 8, 255)                                                              \
    X(pairs_stream, 64, true, 16, 2)                                                               \
    X(large_stream, 64, true, 100, 2)                                                              \
    X(huge_stream, 64, true, 5000, 2)

#define DEFINE(name, capacity, unbounded, payload, messages) DUO_SHAPE(name, capacity, unbounded, payload, messages);
#define CHECK_SHAPE(name, capacity, unbounded, payload, messages)                                  \
    check_shape(&(duo_protocol){capacity, unbounded, payload, messages, &nothing, unbounded ? DUO_RING : 0, NULL}, \
                &name##_shape);

SHAPES(DEFINE)

TEST(shape)
{
    SHAPES(CHECK_SHAPE)
}
