/* A peer that writes anything anywhere while the reader reads: no crash, no bad access, and a result. */
#include "garbage.h"

static void at_rest(void)
{
    size_t broken = 0, taken = 0;
    for (int round = 0; round < 20000; round++) {
        attack made = begin_attack();
        if (round % 16 == 0) write_anything(&made, 0, made.size);
        else write_lines(&made);
        bool goes_on = read_some(&made, 200);
        taken += made.taken;
        broken += !goes_on;
        end_attack(&made);
    }
    CHECK(broken > 1000 && taken > 1000);
}

/* Two mappings of the memory in one process, so that the sanitizers see both and treat them as different memory. */
static void while_it_reads(void)
{
    for (int round = 0; round < 300; round++) {
        attack made = begin_attack();
        attack writer = made;
        atomic_store(&done, false);
        pthread_t thread = start(write_on, &writer);
        for (int i = 0; i < 50 && read_some(&made, 100); i++) continue;
        atomic_store(&done, true);
        finish(thread);
        end_attack(&made);
    }
}

/* A long text of which a part arrives, and then a short message: what did not arrive must not be read. */
static void given_up(void)
{
    attack made = begin_attack();
    duo_shm_line *lines = (duo_shm_line *)(void *)(made.head + 1);
    char *bytes = (char *)(lines + DUO_SHM_LINES);
    const uint64_t head[2] = {64, 300}, one = 2, tag = PAYLOADS_ALL_STR << 8;
    /* 298 bytes of text, in two bytes. */
    memcpy(bytes, "\xaa\x02", 2);
    memcpy(lines[0].cells, head, sizeof head);
    atomic_store(&lines[0].word,
                 DUO_SHM_PARITY | DUO_SHM_LONG | DUO_SHM_MORE | DUO_SHM_FULL | one | tag);
    payloads_all_t message;
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_EMPTY);
    atomic_store(&lines[1].word, DUO_SHM_PARITY | one | tag);
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_BROKEN);
    made.server = (payloads_server_all_t){0};
    end_attack(&made);
}

/* A long text that is withdrawn after a part; then a withdrawal when there is nothing to withdraw. */
static void withdrawn(void)
{
    attack made = begin_attack();
    duo_shm_line *lines = (duo_shm_line *)(void *)(made.head + 1);
    const uint64_t head[2] = {64, 300}, none[2] = {0, 0}, one = 2, tag = PAYLOADS_ALL_STR << 8;
    const uint64_t part = DUO_SHM_PARITY | DUO_SHM_LONG | DUO_SHM_FULL | one;
    const uint64_t number = (PAYLOADS_ALL_U64 - 1) << 8;
    memcpy(lines[0].cells, head, sizeof head);
    memcpy(lines[1].cells, none, sizeof none);
    memcpy(lines[2].cells, "\x07\0\0\0\0\0\0", 8);
    memcpy(lines[3].cells, none, sizeof none);
    atomic_store(&lines[0].word, part | DUO_SHM_MORE | tag);
    payloads_all_t message;
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_EMPTY);
    atomic_store(&lines[1].word, part);
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_EMPTY);
    atomic_store(&lines[2].word, DUO_SHM_PARITY | DUO_SHM_FULL | one | number);
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_OK);
    CHECK(message.tag == PAYLOADS_ALL_U64 && message.as.u64.value == 7);
    made.server = message.as.u64.next;
    atomic_store(&lines[3].word, part);
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_BROKEN);
    made.server = (payloads_server_all_t){0};
    end_attack(&made);
}

/*
 * Lines full of numbers, and then one whose last number has a tag that does not exist: the valid ones arrive, in
 * order.
 */
static void among_numbers(void)
{
    enum { SOUND = 20 };
    attack made = begin_attack();
    duo_shm_line *lines = (duo_shm_line *)(void *)(made.head + 1);
    for (uint64_t n = 0; n < (SOUND + 1) * DUO_SHM_CELLS; n++)
        memcpy(lines[n / DUO_SHM_CELLS].cells + n % DUO_SHM_CELLS * 8, &n, sizeof n);
    for (int i = 0; i < SOUND; i++) atomic_store(&lines[i].word, all_numbers);
    atomic_store(&lines[SOUND].word, all_numbers | UINT64_C(0xff) << 56);
    payloads_all_t message;
    for (uint64_t n = 0; n < SOUND * DUO_SHM_CELLS + DUO_SHM_CELLS - 1; n++) {
        CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_OK);
        CHECK(message.tag == PAYLOADS_ALL_U64 && message.as.u64.value == n);
        made.server = message.as.u64.next;
    }
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_BROKEN);
    made.server = (payloads_server_all_t){0};
    end_attack(&made);

    /* A line that was full in another use of it is not received. */
    made = begin_attack();
    lines = (duo_shm_line *)(void *)(made.head + 1);
    for (int i = 0; i < SOUND; i++)
        atomic_store(&lines[i].word, i == SOUND / 2 ? all_numbers ^ DUO_SHM_PARITY : all_numbers);
    for (int n = 0; n < SOUND / 2 * DUO_SHM_CELLS; n++) {
        CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_OK);
        made.server = message.as.u64.next;
    }
    CHECK(payloads_server_all_try_recv(made.server, &message) == DUO_EMPTY);
    end_attack(&made);
}

TEST(garbage)
{
    given_up();
    withdrawn();
    among_numbers();
    at_rest();
    while_it_reads();
}
