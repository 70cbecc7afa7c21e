/*
 * A ring of which only the beginning is ready when a session begins: the contents of the rest are never
 * mistaken for messages, whichever side gets there first, and a short session does not touch the rest.
 */
#include "check.h"
#include "duologue/pipe.h"
#include "golden.h"

/*
 * proto! talk {
 *     left:send { word(u64) -> left, over(u64) -> right }
 *     right:recv { word(u64) -> right, over(u64) -> left }
 * }
 */
typedef struct said {
    unsigned tag;
    void *block;
    struct {
        uint64_t value;
        duo_endpoint next;
    } as;
} said;

enum { WORD, OVER };

static const duo_state states[2];
static const duo_message messages[2][2] = {
    {{NULL, 8, &states[0], DUO_STAY, WORD}, {NULL, 8, &states[1], DUO_TURN, OVER}},
    {{NULL, 8, &states[1], DUO_STAY, WORD}, {NULL, 8, &states[0], DUO_TURN, OVER}},
};
static const duo_state states[2] = {
    {messages[0], offsetof(said, as), DUO_CLIENT, true, DUO_TAG_SIZE(said)},
    {messages[1], offsetof(said, as), DUO_SERVER, true, DUO_TAG_SIZE(said)},
};

DUO_SHAPE(talk, 64, true, 8, 2);
static const duo_protocol protocol = {64, true, 8, 2, &states[0], DUO_RING, &talk_shape};

/* The value that fills new memory, and the last ring allocated there. */
static uint64_t poison;
static uint64_t *ring;

static void *allocate_aligned(size_t alignment, size_t size)
{
    uint64_t *memory = aligned_alloc(alignment, size);
    for (size_t i = 0; i < size / sizeof *memory; i++) memory[i] = poison;
    if (size >= DUO_RING - DUO_LINE) ring = memory;
    return memory;
}

/* A word with that many messages in an epoch: see position.h. */
static uint64_t word_of(uint64_t epoch, uint64_t count)
{
    return epoch << 43 | count << 40;
}

typedef struct talk {
    duo_endpoint sides[2];
    unsigned speaker;
    uint64_t value;
} talk;

static talk begin(void)
{
    talk both = {.speaker = DUO_CLIENT};
    CHECK(duo_open(&protocol, &both.sides[DUO_SERVER], &both.sides[DUO_CLIENT]) == DUO_OK);
    return both;
}

static void end(talk *both)
{
    for (unsigned side = 0; side < 2; side++)
        CHECK(duo_close(both->sides[side], &states[both->speaker]) == DUO_OK);
}

static duo_status send_by_hand(talk *both, duo_role role)
{
    duo_cursor cursor;
    duo_endpoint *from = &both->sides[role];
    if (!duo_may_send(&cursor, *from, role, &talk_shape, DUO_STAY))
        return duo_send(*from, &messages[role][WORD], &both->value, DUO_AT_ONCE, from);
    memcpy(cursor.slot, &both->value, sizeof both->value);
    return duo_publish(&cursor, *from, role, DUO_STAY, WORD, false, true, from);
}

/* One message, with nothing before and after it. */
static void pass(talk *both, bool by_hand, unsigned kind)
{
    unsigned speaker = both->speaker;
    duo_endpoint *from = &both->sides[speaker], *to = &both->sides[speaker ^ 1];
    const duo_message *message = &messages[speaker][kind];
    said heard;
    CHECK(duo_recv(*to, &states[speaker], DUO_AT_ONCE, &heard) == DUO_EMPTY);
    both->value += 1;
    if (by_hand && kind == WORD && speaker == DUO_CLIENT) CHECK(send_by_hand(both, DUO_CLIENT) == DUO_OK);
    else if (by_hand && kind == WORD) CHECK(send_by_hand(both, DUO_SERVER) == DUO_OK);
    else CHECK(duo_send(*from, message, &both->value, DUO_AT_ONCE, from) == DUO_OK);
    CHECK(duo_recv(*to, &states[speaker], DUO_AT_ONCE, &heard) == DUO_OK);
    CHECK(heard.tag == kind + 1 && heard.as.value == both->value);
    *to = heard.as.next;
    if (kind == OVER) both->speaker ^= 1;
}

static void run(talk *both, bool by_hand, size_t lines)
{
    for (size_t i = 0; i < lines * talk_shape.per_line; i++) pass(both, by_hand, WORD);
}

/* A session in a ring that has not been used: a session of another shape replaces the pooled one. */
static talk begin_anew(void)
{
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    CHECK(numbers_init_with(300, &in, &out) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK && numbers_server_stream_close(in) == DUO_OK);
    ring = NULL;
    talk both = begin();
    CHECK(ring != NULL);
    return both;
}

static void first_run(unsigned turns, bool by_hand)
{
    poison = word_of(1 + turns, 7);
    talk both = begin_anew();
    for (unsigned turn = 0; turn < turns; turn++) pass(&both, by_hand, OVER);
    run(&both, by_hand, 2 * talk_shape.lines + 3);
    end(&both);
    /* The ring is used again, and all of it is ready. */
    talk again = begin();
    run(&again, !by_hand, talk_shape.lines + 1);
    end(&again);
}

/*
 * Long and short runs of both sides. Epochs may restart in the meantime. With five epochs, a long run in every fifth
 * turn always comes in the same epoch.
 */
static void many_runs(bool by_hand, size_t period, size_t lines)
{
    poison = word_of(2, 7);
    talk both = begin_anew();
    for (size_t turn = 0; turn < 41; turn++) {
        run(&both, by_hand, turn % period == 0 ? lines : turn % 5);
        pass(&both, by_hand, OVER);
    }
    end(&both);
}

/* The end of a ring that is not needed stays as it was. */
static void short_runs(void)
{
    if (talk_shape.ready == talk_shape.lines) return;
    poison = word_of(1, 7);
    talk both = begin_anew();
    const size_t words = DUO_LINE / sizeof *ring, in_ring = talk_shape.lines * words;
    for (size_t turn = 0; turn < 20; turn++) {
        run(&both, turn % 2 == 0, talk_shape.ready - 2);
        pass(&both, true, OVER);
    }
    for (size_t i = talk_shape.ready * words; i < in_ring; i++) CHECK(ring[i] == poison);
    end(&both);
}

TEST(lines)
{
    CHECK(talk_shape.pitch == DUO_LINE && talk_shape.ready <= talk_shape.lines);
    CHECK(sizeof(void *) < 8 || talk_shape.ready < talk_shape.lines);
    duo_use_memory((duo_memory){malloc, allocate_aligned, free});
    short_runs();
    for (unsigned turns = 0; turns < 4; turns++) {
        first_run(turns, false);
        first_run(turns, true);
    }
    for (unsigned by_hand = 0; by_hand < 2; by_hand++) {
        many_runs(by_hand, 3, talk_shape.lines + 5);
        many_runs(by_hand, 5, talk_shape.lines - 5);
    }
}
