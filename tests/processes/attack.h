/* A region whose other side cannot be trusted, and a reader that receives what is there. */
#ifndef ATTACK_H
#define ATTACK_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "payloads_shm.h"
#include "shm/shm.h"

typedef struct attack {
    int region;
    /* The description that locks the other side. */
    int lock;
    size_t size;
    duo_shm_head *head;
    payloads_server_all_t server;
    /* Messages that have been read. */
    size_t taken;
} attack;

/* A region in which the side at this place has written a correct hello and nothing else. */
static inline attack make_attack_at(unsigned place, const duo_fingerprint *fingerprint)
{
    attack made = {.taken = 0};
    CHECK(duo_shm_create(4096, &made.region) == DUO_OK);
    struct stat status;
    CHECK(fstat(made.region, &status) == 0);
    made.size = (size_t)status.st_size;
    made.head = mmap(NULL, made.size, PROT_READ | PROT_WRITE, MAP_SHARED, made.region, 0);
    CHECK(made.head != MAP_FAILED);
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", made.region);
    made.lock = open(path, O_RDWR);
    CHECK(made.lock >= 0 && duo_shm_lock_bytes(made.lock, DUO_SHM_SIDE_LOCK(place), 1));
    duo_shm_hello *hello = &made.head->sides[place].hello;
    hello->largest = 1 << 20;
    hello->fingerprint = *fingerprint;
    atomic_store(&hello->verdict, 1);
    atomic_store(&hello->state, 2);
    return made;
}

static inline attack make_attack(void)
{
    return make_attack_at(0, &duo_wire_of_payloads.fingerprint);
}

/* Attaches the server to such a region. */
static inline attack begin_attack_with(const duo_shm_options *options)
{
    attack made = make_attack();
    CHECK(payloads_server_attach(made.region, options, &made.server) == DUO_OK);
    return made;
}

static inline attack begin_attack(void)
{
    return begin_attack_with(&(duo_shm_options){.largest = 1 << 16});
}

/* Reads the message, frees it and advances to the next state; false after the last message. */
static inline bool go_on(payloads_all_t *message, payloads_server_all_t *server)
{
    /* Every byte of a text can be read. */
    if (message->tag == PAYLOADS_ALL_STR) {
        unsigned sum = 0;
        for (size_t at = 0; at < message->as.str.value.size; at++)
            sum += (unsigned char)message->as.str.value.data[at];
        CHECK(sum <= 255 * (1 << 16));
    }
    bool is_over = message->tag == PAYLOADS_ALL_OVER;
    payloads_server_all_t next = *server;
    switch (message->tag) {
#define GO_ON(TAG, member)                                                                         \
    case TAG: next = message->as.member.next; break
        GO_ON(PAYLOADS_ALL_NONE, none);
        GO_ON(PAYLOADS_ALL_BOOL, bool_);
        GO_ON(PAYLOADS_ALL_U8, u8);
        GO_ON(PAYLOADS_ALL_U16, u16);
        GO_ON(PAYLOADS_ALL_U32, u32);
        GO_ON(PAYLOADS_ALL_U64, u64);
        GO_ON(PAYLOADS_ALL_I8, i8);
        GO_ON(PAYLOADS_ALL_I16, i16);
        GO_ON(PAYLOADS_ALL_I32, i32);
        GO_ON(PAYLOADS_ALL_I64, i64);
        GO_ON(PAYLOADS_ALL_F32, f32);
        GO_ON(PAYLOADS_ALL_F64, f64);
        GO_ON(PAYLOADS_ALL_STR, str);
        GO_ON(PAYLOADS_ALL_BYTES, bytes);
        GO_ON(PAYLOADS_ALL_LIST, list);
        GO_ON(PAYLOADS_ALL_LISTS, lists);
        GO_ON(PAYLOADS_ALL_OPTION, option);
        GO_ON(PAYLOADS_ALL_OPTIONS, options);
        GO_ON(PAYLOADS_ALL_TUPLE, tuple);
        GO_ON(PAYLOADS_ALL_EMPTIES, empties);
        GO_ON(PAYLOADS_ALL_RECORD, record);
        GO_ON(PAYLOADS_ALL_TREE, tree);
        GO_ON(PAYLOADS_ALL_COLOUR, colour);
        GO_ON(PAYLOADS_ALL_SHAPE, shape);
        GO_ON(PAYLOADS_ALL_MANY, many);
    case PAYLOADS_ALL_OVER: break;
    }
    *server = next;
    payloads_all_free(message);
    return !is_over;
}

/* Reads what is there; false once the session is over. */
static inline bool read_some(attack *made, int most)
{
    payloads_all_t message;
    for (int i = 0; i < most; i++) {
        duo_status status = payloads_server_all_try_recv(made->server, &message);
        if (status == DUO_EMPTY) return true;
        if (status != DUO_OK) {
            CHECK(status == DUO_BROKEN || status == DUO_CLOSED || status == DUO_NO_MEMORY ||
                  status == DUO_TOO_LARGE);
            if (status == DUO_NO_MEMORY) payloads_server_all_close(made->server);
            made->server = (payloads_server_all_t){0};
            return false;
        }
        made->taken += 1;
        if (!go_on(&message, &made->server)) {
            made->server = (payloads_server_all_t){0};
            return false;
        }
    }
    return true;
}

static inline void end_attack(attack *made)
{
    if (made->server.receives.session != NULL) payloads_server_all_close(made->server);
    munmap(made->head, made->size);
    close(made->lock);
    close(made->region);
}

#endif
