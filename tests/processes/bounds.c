/* What a peer can make this side spend: memory for a message, a region, and the time of one check. */
#define _GNU_SOURCE
#include "attack.h"
#include "child.h"
#include "counted.h"
#include "waits.h"

enum { ITEMS = 100000 };

static void send_absent_options(int region)
{
    payloads_client_all_t client;
    CHECK(payloads_client_attach(region, NULL, &client) == DUO_OK);
    static duo_opt_opt_str_t none[ITEMS];
    const duo_list_opt_opt_str_t options = {none, ITEMS};
    /* A receiver that refuses it closes, possibly before the sender has checked the last part. */
    duo_status status = payloads_client_all_send_options(client, options, &client);
    CHECK(status == DUO_OK || status == DUO_CLOSED);
    if (status == DUO_OK) CHECK(payloads_client_all_close(client) == DUO_OK);
}

/* Each item takes one byte on the wire, and as much as a text in memory. */
static duo_status receive_them(const duo_shm_options *options)
{
    int region = region_of(4096);
    pid_t child = start_child(send_absent_options, region);
    payloads_server_all_t server;
    CHECK(payloads_server_attach(region, options, &server) == DUO_OK);
    payloads_all_t message;
    counted.largest = 0;
    duo_status status = payloads_server_all_recv(server, &message);
    if (status == DUO_OK) {
        CHECK(message.as.options.options.size == ITEMS);
        CHECK(counted.largest > ITEMS * sizeof(duo_opt_opt_str_t));
        CHECK(payloads_server_all_close(message.as.options.next) == DUO_OK);
        payloads_all_free(&message);
    } else {
        CHECK(payloads_server_all_close(server) == DUO_USED);
    }
    finish_child(child);
    close(region);
    return status;
}

static void memory_of_a_message(void)
{
    const size_t size = ITEMS + 3, space = ITEMS * sizeof(duo_opt_opt_str_t);
    const duo_shm_options enough = {.memory = size + space + 16}, tight = {.memory = size + space - 1};
    CHECK(receive_them(NULL) == DUO_OK && receive_them(&enough) == DUO_OK);
    CHECK(receive_them(&tight) == DUO_TOO_LARGE && counted.largest <= size);
    /* Four times what goes over the wire, unless the option is set. */
    const duo_shm_options usual = {.largest = 2 * ITEMS}, more = {.largest = 2 * ITEMS, .memory = 2 * space};
    CHECK(receive_them(&usual) == DUO_TOO_LARGE && counted.largest <= size);
    CHECK(receive_them(&more) == DUO_OK);
    /* Less than the bytes of the message: nothing is allocated at all. */
    const duo_shm_options little = {.memory = 1000};
    CHECK(receive_them(&little) == DUO_TOO_LARGE && counted.largest == 0);
}

/* Items without bytes: a message of a few bytes that is large in memory. */
static void memory_of_a_short_message(void)
{
    attack made;
    const size_t memories[] = {65535, 65535 + 64};
    for (size_t i = 0; i < 2; i++) {
        made = begin_attack_with(&(duo_shm_options){.memory = memories[i]});
        duo_shm_line *lines = (duo_shm_line *)(void *)(made.head + 1);
        memcpy(lines[0].cells, "\xff\xff\x03", 3);
        atomic_store(&lines[0].word, DUO_SHM_PARITY | 2 | DUO_SHM_FULL | (PAYLOADS_ALL_EMPTIES - 1) << 8);
        payloads_all_t message;
        counted.largest = 0;
        duo_status status = payloads_server_all_try_recv(made.server, &message);
        made.server = (payloads_server_all_t){0};
        CHECK(status == (i == 0 ? DUO_TOO_LARGE : DUO_OK));
        CHECK(counted.largest == 0 || i == 1);
        if (status == DUO_OK) {
            CHECK(message.as.empties.empties.size == 65535);
            made.server = message.as.empties.next;
            payloads_all_free(&message);
        }
        end_attack(&made);
    }
}

static void a_region(void)
{
    payloads_server_all_t server;
    const duo_shm_options small = {.region = 1 << 20, .wait = 1}, large = {.region = 1 << 22, .wait = 1};
    int region = region_of(1 << 21);
    CHECK(payloads_server_attach(region, &small, &server) == DUO_TOO_LARGE);
    /* The region was not touched: the side is still free. */
    CHECK(payloads_server_attach(region, &large, &server) == DUO_EMPTY);
    close(region);
    int huge = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(huge >= 0 && ftruncate(huge, (1 << 30) + 4096) == 0);
    CHECK(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    CHECK(payloads_server_attach(huge, NULL, &server) == DUO_TOO_LARGE);
    close(huge);
}

/* A whole text in parts of one byte, all there at once. */
static void write_parts(attack *made, unsigned count)
{
    duo_shm_line *lines = (duo_shm_line *)(void *)(made->head + 1);
    char *bytes = (char *)(lines + DUO_SHM_LINES);
    const uint64_t head[2] = {1, count};
    for (unsigned i = 0; i < count; i++) {
        uint64_t word = DUO_SHM_PARITY | 2 | DUO_SHM_FULL | DUO_SHM_LONG | (PAYLOADS_ALL_STR - 1) << 8;
        if (i + 1 < count) word |= DUO_SHM_MORE;
        bytes[i * 64] = (char)(i == 0 ? count - 1 : 'x');
        memcpy(lines[i].cells, head, sizeof head);
        atomic_store(&lines[i].word, word);
    }
}

static uint64_t parts_taken(const attack *made)
{
    return atomic_load(&made->head->sides[1].lines_taken);
}

/* Of a call that does not wait, or of one whose wait is canceled. */
static void time_of_a_look(bool is_canceled)
{
    enum { PARTS = 64, MOST = 16 };
    attack made = begin_attack();
    duo_canceler *canceler = duo_canceler_new();
    CHECK(canceler != NULL);
    duo_cancel(canceler);
    if (is_canceled) duo_canceler_use(canceler);
    write_parts(&made, PARTS);
    payloads_all_t message;
    for (uint64_t before = 0, looks = 1;; looks++) {
        duo_status status = is_canceled ? payloads_server_all_recv(made.server, &message)
                                        : payloads_server_all_try_recv(made.server, &message);
        CHECK(parts_taken(&made) <= before + MOST);
        before = parts_taken(&made);
        if (status == DUO_OK) break;
        CHECK(status == DUO_EMPTY && looks <= PARTS);
    }
    CHECK(message.as.str.value.size == PARTS - 1);
    made.server = message.as.str.next;
    payloads_all_free(&message);
    duo_canceler_use(NULL);
    duo_canceler_free(canceler);
    end_attack(&made);
}

/* A thread that waits for many does not go to sleep while there are parts to receive. */
static void looks_go_on(way how)
{
    attack made = begin_attack();
    write_parts(&made, 64);
    wait_by(how, DUO_READY(made.server));
    CHECK(read_some(&made, 1) && made.taken == 1);
    end_attack(&made);
}

TEST(bounds)
{
    use_counted_memory();
    memory_of_a_message();
    memory_of_a_short_message();
    a_region();
    time_of_a_look(false);
    time_of_a_look(true);
    for (way how = BY_SELECT; how < WAYS; how++) looks_go_on(how);
}
