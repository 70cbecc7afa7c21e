/*
 * A receiver that disconnects while its peer does, after the kernel has begun to refuse the barrier: what the peer does
 * takes place between two steps of the receiver, where no test could bring it about by chance.
 */
#define _GNU_SOURCE
#define duo_answer real_answer
#define duo_announce_end real_announce_end
#define duo_leave_as_sender real_leave_as_sender
#define duo_leave_as_receiver real_leave_as_receiver
#define duo_was_left hooked_was_left
#define duo_barrier hooked_barrier
#include "duologue/pipe.h"

duo_status real_close(duo_endpoint endpoint, const duo_state *state);

#undef duo_close
#define duo_close real_close
#include "../src/leave.c"
#undef duo_close
#undef duo_was_left
#undef duo_barrier

#include <errno.h>

#include "check.h"
#include "duologue/generated.h"
#include "golden.h"
#include "refuse.h"

bool duo_was_left(const duo_side *side);
bool duo_barrier(void);

/* proto! calls { call:send { more -> call, ask(text: str, name: str) -> reply } reply:recv { more -> reply, done -> call } } */
static const duo_state states[2];
static const duo_field fields[] = {
    {&duo_text_type, DUO_ENTRY(bank_login_t, login, username), 0},
    {&duo_text_type, DUO_ENTRY(bank_login_t, login, password), 0},
};
static const duo_type texts = DUO_TYPE_OF(DUO_STRUCT, true, false, true, fields);
static const duo_message messages[] = {
    {NULL, 0, &states[0], DUO_STAY, 0},
    {&texts, DUO_BEFORE_NEXT(bank_login_t, login), &states[1], DUO_TURN, 1},
    {NULL, 0, &states[1], DUO_STAY, 0},
    {NULL, 0, &states[0], DUO_TURN, 1},
};
static const duo_state states[] = {
    {&messages[0], offsetof(bank_login_t, as), DUO_CLIENT, true, DUO_TAG_SIZE(bank_login_t)},
    {&messages[2], offsetof(bank_login_t, as), DUO_SERVER, true, DUO_TAG_SIZE(bank_login_t)},
};
static const duo_protocol calls = {64, true, sizeof(void *), 2, states, 0, NULL};

/* What the peer does before the receiver looks whether it was left, and when the receiver has announced that it leaves. */
static void (*before_check)(void), (*when_announced)(void);

static void happen(void (**what)(void))
{
    void (*happens)(void) = *what;
    *what = NULL;
    if (happens != NULL) happens();
}

bool hooked_was_left(const duo_side *side)
{
    happen(&before_check);
    return duo_was_left(side);
}

bool hooked_barrier(void)
{
    happen(&when_announced);
    return duo_barrier();
}

static long live;

static void *allocate(size_t size)
{
    live++;
    return malloc(size);
}

static void *allocate_aligned(size_t alignment, size_t size)
{
    live++;
    return aligned_alloc(alignment, size);
}

static void release(void *memory)
{
    if (memory != NULL) live--;
    free(memory);
}

static duo_endpoint server, client;

static duo_endpoint ask(void)
{
    const bank_login_t message = {.as.login = {.username = DUO_STR("holk"), .password = DUO_STR("a long password")}};
    duo_endpoint waiting;
    CHECK(duo_send(client, &messages[1], &message.as, DUO_FOREVER, &waiting) == DUO_OK);
    return waiting;
}

static void asks_and_leaves(void)
{
    CHECK(duo_close(ask(), &states[1]) == DUO_OK);
}

/* The message that came last is destroyed: the receiver looks again after it has found that it was left. */
static void a_last_message_is_destroyed(void)
{
    before_check = asks_and_leaves;
    CHECK(real_close(server, &states[0]) == DUO_OK);
    CHECK(before_check == NULL);
}

static DUO_ATOMIC uint64_t *flags_of_server;
static uint64_t place;

static void decides(void)
{
    duo_atomic_store(flags_of_server, place | GONE, memory_order_release);
}

static void is_leaving(void)
{
    duo_atomic_store(flags_of_server, place | LEAVING, memory_order_release);
    before_check = decides;
}

/*
 * The server has not seen the question, and leaves before it. The client finds the server leaving, and does not leave the
 * session to it. The question is put away for as long, so that nobody destroys it.
 */
static void one_of_two_that_leave_ends_the_session(void)
{
    duo_session *session = client.session;
    duo_side *side = &session->sides[DUO_SERVER];
    load_position(side);
    CHECK(!is_swapped(side->at));
    DUO_ATOMIC uint64_t *word = &side->line->word;
    uint64_t before = duo_atomic_load(word, memory_order_relaxed);
    flags_of_server = flags_of(session, DUO_SERVER);
    place = side->at & KEY;
    duo_endpoint waiting = ask();
    discard(&messages[1], payload_slot(session, side));
    duo_atomic_store(word, before, memory_order_relaxed);
    when_announced = is_leaving;
    CHECK(real_close(waiting, &states[1]) == DUO_OK);
    CHECK(when_announced == NULL && before_check == NULL);
    CHECK(duo_open(&calls, &server, &client) == DUO_OK);
    CHECK(client.session == session);
    CHECK(duo_close(server, &states[0]) == DUO_OK && duo_close(client, &states[0]) == DUO_OK);
}

TEST(leaving)
{
    duo_use_memory((duo_memory){allocate, allocate_aligned, release});
    CHECK(duo_open(&calls, &server, &client) == DUO_OK);
    duo_endpoint first[] = {server, client};
    CHECK(duo_open(&calls, &server, &client) == DUO_OK);
    if (!duo_has_barrier()) return;
    refuse_membarrier(EPERM);
    one_of_two_that_leave_ends_the_session();
    server = first[0];
    client = first[1];
    a_last_message_is_destroyed();
    CHECK(duo_shutdown() == 0 && live == 0);
}
