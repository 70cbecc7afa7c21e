/*
 * A server in shared memory, written by hand, that can skip each of its checks: `flawed FILE FINGERPRINT FLAW`, with the
 * fingerprint in hexadecimal. It serves
 *
 *     proto! notes { open:send { put(flag: bool) -> open, finish(flag: bool) -> ! } }
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shm.h"

/* Which check it skips. */
enum flaw {
    NONE,
    /* The head describes a region of the size that the file has. */
    HEAD,
    /* The state has the tag. */
    TAG,
    /* A `bool` is 0 or 1. */
    BOOL,
    /* The other side has left. */
    LEFT,
    /* The other process has ended. */
    DEATH,
    /* None, but it crashes when a check has failed. */
    CRASH
};

static const char *const FLAWS[] = {"none", "head", "tag", "bool", "left", "death", "crash"};

static enum flaw flaw;

static duo_shm_head *head;
static int file;

/* The sides: the client, which sends first, and this one. */
enum { PEER, OWN };

static bool lock(int description, int command, unsigned place)
{
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    byte.l_start = (off_t)DUO_SHM_SIDE_LOCK(place);
    if (fcntl(description, command, &byte) != 0) return false;
    return command == F_OFD_SETLK || byte.l_type != F_UNLCK;
}

/* Ends the session, for which there is a reason if `is_wrong`. */
_Noreturn static void end(bool is_wrong)
{
    if (is_wrong && flaw == CRASH) abort();
    atomic_fetch_or(&head->sides[OWN].flags, DUO_SHM_LEFT);
    _exit(is_wrong);
}

static bool is_gone(void)
{
    bool has_left = atomic_load(&head->sides[PEER].flags) & (DUO_SHM_LEFT | DUO_SHM_DONE);
    if (has_left && flaw != LEFT) return true;
    return flaw != DEATH && !lock(file, F_OFD_GETLK, PEER);
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

/* Opens the region. What is wrong about it ends the process. */
static void open_region(const char *name)
{
    file = open(name, O_RDWR | O_CLOEXEC);
    int description = open(name, O_RDWR | O_CLOEXEC);
    struct stat found;
    duo_shm_head seen;
    if (file < 0 || description < 0 || fstat(file, &found) != 0) exit(3);
    if (pread(file, &seen, sizeof seen, 0) != (ssize_t)sizeof seen) exit(3);
    uint64_t lines = seen.lines, size = sizeof seen + lines * sizeof(duo_shm_line);
    bool is_right = (uint64_t)found.st_size >= size && found.st_size - (off_t)size == (off_t)seen.bytes;
    if (seen.version != DUO_SHM_VERSION || lines < 8 || (!is_right && flaw != HEAD)) exit(1);
    head = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (head == MAP_FAILED || !lock(description, F_OFD_SETLK, OWN)) exit(3);
    duo_shm_line *last = (duo_shm_line *)(void *)((char *)head + size) - 1;
    /* Beyond the end of the file, this ends the process. */
    (void)atomic_load(&last->word);
}

static void meet(const duo_fingerprint *fingerprint)
{
    duo_shm_hello *own = &head->sides[OWN].hello, *peer = &head->sides[PEER].hello;
    own->largest = 1000;
    own->fingerprint = *fingerprint;
    atomic_store(&own->state, 2);
    for (uint32_t state; (state = atomic_load(&peer->state)) != 2; pause_briefly())
        if (state > 2 || is_gone()) end(true);
    bool is_equal = memcmp(&peer->fingerprint, fingerprint, sizeof *fingerprint) == 0;
    atomic_store(&own->verdict, is_equal ? 1 : 3);
    if (!is_equal) end(true);
    for (uint32_t verdict; (verdict = atomic_load(&peer->verdict)) != 1; pause_briefly())
        if (verdict != 0 || is_gone()) end(true);
}

/* Reads messages until the last. Each line is used once. */
static void serve(void)
{
    duo_shm_line *line = (duo_shm_line *)(void *)(head + 1);
    for (unsigned done = 0;;) {
        bool was_gone = is_gone();
        uint64_t word = atomic_load(&line->word);
        unsigned count = (unsigned)(word >> DUO_SHM_COUNT_SHIFT) & 7;
        if (!(word & DUO_SHM_PARITY) || count <= done) {
            if (was_gone) end(false);
            pause_briefly();
            continue;
        }
        unsigned tag = (unsigned)(word >> (DUO_SHM_TAG_SHIFT + 8 * done)) & 0xff;
        unsigned char flag = (unsigned char)line->cells[8 * done];
        bool is_wrong = (tag > 1 && flaw != TAG) || (flag > 1 && tag <= 1 && flaw != BOOL);
        if ((word & DUO_SHM_LONG) || is_wrong) end(true);
        if (tag != 0) {
            atomic_fetch_or(&head->sides[OWN].flags, DUO_SHM_DONE);
            return;
        }
        done++;
        if (!(word & DUO_SHM_FULL) || done < count) continue;
        line++;
        done = 0;
    }
}

int main(int count, char **arguments)
{
    duo_fingerprint fingerprint;
    if (count != 4 || strlen(arguments[2]) != 2 * sizeof fingerprint) return 2;
    for (size_t i = 0; i < sizeof fingerprint; i++) {
        char digits[] = {arguments[2][2 * i], arguments[2][2 * i + 1], '\0'};
        ((unsigned char *)&fingerprint)[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    while (strcmp(FLAWS[flaw], arguments[3]) != 0) flaw++;
    open_region(arguments[1]);
    meet(&fingerprint);
    serve();
    return 0;
}
