/* Many threads send to another process over one endpoint. */
#include <stdatomic.h>

#include "pour_shm.h"
#include "talk.h"

enum { THREADS = 4, DROPS = 3000, SHEET = 9000 };

static char sheet[SHEET];

/* Every seventh message is a sheet: three of them fill the region's space, and each is sent in parts. */
static void read_all(int region)
{
    pour_server_pour_t server;
    CHECK(pour_server_attach(region, NULL, &server) == DUO_OK);
    uint64_t next[THREADS] = {0};
    pour_pour_t got;
    duo_status status;
    while ((status = pour_server_pour_recv(server, &got)) == DUO_OK) {
        if (got.tag == POUR_POUR_DROP) {
            CHECK(got.as.drop.thread < THREADS && got.as.drop.number == next[got.as.drop.thread]++);
            server = got.as.drop.next;
        } else {
            CHECK(got.as.sheet.thread < THREADS && next[got.as.sheet.thread]++ % 7 == 6);
            CHECK(got.as.sheet.value.size == SHEET && got.as.sheet.value.data[SHEET - 1] == 'z');
            server = got.as.sheet.next;
        }
        pour_pour_free(&got);
    }
    CHECK(status == DUO_CLOSED);
    for (size_t i = 0; i < THREADS; i++) CHECK(next[i] == DROPS);
}

static pour_client_pour_shared_t shared;
static _Atomic unsigned threads;

/* Half of the threads try until it succeeds. */
static void *send_many(void *unused)
{
    (void)unused;
    unsigned own = atomic_fetch_add(&threads, 1);
    bool tries = own % 2 == 1;
    pour_client_pour_shared_t here = pour_client_pour_shared_retain(shared);
    duo_str text = {sheet, SHEET};
    for (uint64_t i = 0; i < DROPS; i++) {
        duo_status status;
        do {
            if (i % 7 == 6) status = pour_client_pour_shared_send_sheet(here, (uint8_t)own, text);
            else if (tries) status = pour_client_pour_shared_try_send_drop(here, (uint8_t)own, i);
            else status = pour_client_pour_shared_send_drop(here, (uint8_t)own, i);
        } while (tries && status == DUO_FULL);
        CHECK(status == DUO_OK);
    }
    pour_client_pour_shared_release(here);
    return NULL;
}

static void share(int region)
{
    pour_client_pour_t client;
    CHECK(pour_client_attach(region, NULL, &client) == DUO_OK);
    CHECK(pour_client_pour_share(client, &shared) == DUO_OK);
    CHECK(pour_client_pour_send_drop(client, 0, 0, &client) == DUO_USED);
}

static void from_many_threads(void)
{
    memset(sheet, 'z', sizeof sheet);
    int region = region_of(32768);
    pid_t child = start_child(read_all, region);
    share(region);
    pthread_t running[THREADS];
    for (size_t i = 0; i < THREADS; i++) running[i] = start(send_many, NULL);
    for (size_t i = 0; i < THREADS; i++) finish(running[i]);
    pour_client_pour_shared_release(shared);
    finish_child(child);
    close(region);
}

static void read_nothing(int region)
{
    pour_server_pour_t server;
    CHECK(pour_server_attach(region, NULL, &server) == DUO_OK);
    for (;;) pause();
}

static void *send_on(void *unused)
{
    (void)unused;
    duo_status status;
    while ((status = pour_client_pour_shared_send_drop(shared, 0, 0)) == DUO_OK) continue;
    CHECK(status == DUO_LOST);
    return NULL;
}

/* All are notified when the peer is killed: senders that wait, that only try, and that come later. */
static void killed(void)
{
    int region = region_of(4096);
    pid_t child = start_child(read_nothing, region);
    share(region);
    pthread_t running[THREADS];
    for (size_t i = 0; i < THREADS; i++) running[i] = start(send_on, NULL);
    while (pour_client_pour_shared_try_send_drop(shared, 0, 0) == DUO_OK) continue;
    kill_child(child);
    for (size_t i = 0; i < THREADS; i++) finish(running[i]);
    CHECK(pour_client_pour_shared_try_send_drop(shared, 0, 0) == DUO_LOST);
    pour_client_pour_shared_release(shared);
    close(region);
}

TEST(shared)
{
    from_many_threads();
    killed();
}
