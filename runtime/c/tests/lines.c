/*
 * A ring of which only the beginning is ready when a session begins: the contents of the rest are never
 * mistaken for messages, whichever side gets there first, and a short session does not touch the rest.
 */
#include "check.h"
#include "duologue/pipe.h"
#include "golden.h"
#include "talk.h"

enum { WORD, OVER };

static const duo_shape *const shape = &duo_shape_of_talk_shape;

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
    CHECK(duo_open(&duo_protocol_of_talk, &both.sides[DUO_SERVER], &both.sides[DUO_CLIENT]) == DUO_OK);
    return both;
}

static void end(talk *both)
{
    for (unsigned side = 0; side < 2; side++)
        CHECK(duo_close(both->sides[side], &duo_states_of_talk[both->speaker]) == DUO_OK);
}

static duo_status send_by_hand(talk *both, duo_role role)
{
    duo_cursor cursor;
    duo_endpoint *from = &both->sides[role];
    if (!duo_may_send(&cursor, *from, role, shape, DUO_STAY))
        return duo_send(*from, &duo_messages_of_talk[2 * role + WORD], &both->value, DUO_AT_ONCE, from);
    memcpy(cursor.slot, &both->value, sizeof both->value);
    return duo_publish(&cursor, *from, role, DUO_STAY, WORD, false, true, from);
}

/* One message, with nothing before and after it. */
static void pass(talk *both, bool by_hand, unsigned kind)
{
    unsigned speaker = both->speaker;
    duo_endpoint *from = &both->sides[speaker], *to = &both->sides[speaker ^ 1];
    const duo_message *message = &duo_messages_of_talk[2 * speaker + kind];
    /* A message of the other state has the same shape. */
    talk_left_t heard;
    CHECK(duo_recv(*to, &duo_states_of_talk[speaker], DUO_AT_ONCE, &heard) == DUO_EMPTY);
    both->value += 1;
    if (by_hand && kind == WORD && speaker == DUO_CLIENT) CHECK(send_by_hand(both, DUO_CLIENT) == DUO_OK);
    else if (by_hand && kind == WORD) CHECK(send_by_hand(both, DUO_SERVER) == DUO_OK);
    else CHECK(duo_send(*from, message, &both->value, DUO_AT_ONCE, from) == DUO_OK);
    CHECK(duo_recv(*to, &duo_states_of_talk[speaker], DUO_AT_ONCE, &heard) == DUO_OK);
    CHECK((unsigned)heard.tag == kind + 1 && heard.as.word.value == both->value);
    *to = heard.as.word.next.receives;
    if (kind == OVER) both->speaker ^= 1;
}

static void run(talk *both, bool by_hand, size_t lines)
{
    for (size_t i = 0; i < lines * shape->per_line; i++) pass(both, by_hand, WORD);
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
    run(&both, by_hand, 2 * shape->lines + 3);
    end(&both);
    /* The ring is used again, and all of it is ready. */
    talk again = begin();
    run(&again, !by_hand, shape->lines + 1);
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
    if (shape->ready == shape->lines) return;
    poison = word_of(1, 7);
    talk both = begin_anew();
    const size_t words = DUO_LINE / sizeof *ring, in_ring = shape->lines * words;
    for (size_t turn = 0; turn < 20; turn++) {
        run(&both, turn % 2 == 0, shape->ready - 2);
        pass(&both, true, OVER);
    }
    for (size_t i = shape->ready * words; i < in_ring; i++) CHECK(ring[i] == poison);
    end(&both);
}

TEST(lines)
{
    CHECK(shape->pitch == DUO_LINE && shape->ready <= shape->lines);
    CHECK(sizeof(void *) < 8 || shape->ready < shape->lines);
    duo_use_memory((duo_memory){malloc, allocate_aligned, free});
    short_runs();
    for (unsigned turns = 0; turns < 4; turns++) {
        first_run(turns, false);
        first_run(turns, true);
    }
    for (unsigned by_hand = 0; by_hand < 2; by_hand++) {
        many_runs(by_hand, 3, shape->lines + 5);
        many_runs(by_hand, 5, shape->lines - 5);
    }
}
