/*
 * A region has all of its memory from the beginning, and if the system does not have that much nothing is left of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "talk.h"

static char name[64];

static bool is_there(void)
{
    int opened = shm_open(name, O_RDWR, 0);
    if (opened < 0) CHECK(errno == ENOENT);
    else close(opened);
    return opened >= 0;
}

static void check_memory(int region)
{
    struct stat status;
    CHECK(fstat(region, &status) == 0);
    CHECK((off_t)status.st_blocks * 512 >= status.st_size);
    close(region);
}

static void has_all_of_it(void)
{
    const size_t rooms[] = {0, 4096, 3 << 20};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        int region;
        CHECK(duo_shm_create(rooms[i], &region) == DUO_OK);
        check_memory(region);
        CHECK(duo_shm_open(name, rooms[i], &region) == DUO_OK);
        check_memory(region);
        CHECK(duo_shm_unlink(name) == DUO_OK);
    }
}

/* More than any machine has today; a file system that knows its own size refuses it immediately. */
static void too_much(void)
{
    int region;
    CHECK(duo_shm_open(name, SIZE_MAX, &region) == DUO_SYSTEM && region == -1);
    CHECK(errno == ENOSPC || errno == EFBIG);
    CHECK(!is_there());
    CHECK(duo_shm_open(name, 0, &region) == DUO_OK);
    close(region);
    CHECK(duo_shm_unlink(name) == DUO_OK);
}

static unsigned refusals, interruptions;

int __real_posix_fallocate(int file, off_t from, off_t size);
int __wrap_posix_fallocate(int file, off_t from, off_t size);

/* The program is linked with `--wrap=posix_fallocate`. */
int __wrap_posix_fallocate(int file, off_t from, off_t size)
{
    if (interruptions > 0) {
        interruptions -= 1;
        return EINTR;
    }
    if (refusals == 0) return __real_posix_fallocate(file, from, size);
    refusals -= 1;
    return ENOSPC;
}

static void refused(void)
{
    int region = 0;
    refusals = 1;
    CHECK(duo_shm_create(0, &region) == DUO_SYSTEM && errno == ENOSPC && region == -1);
    refusals = 1;
    CHECK(duo_shm_open(name, 0, &region) == DUO_SYSTEM && errno == ENOSPC && region == -1);
    CHECK(refusals == 0 && !is_there());
    interruptions = 3;
    CHECK(duo_shm_create(0, &region) == DUO_OK && interruptions == 0);
    close(region);
}

TEST(space)
{
    snprintf(name, sizeof name, "/duologue-space-%d", (int)getpid());
    has_all_of_it();
    too_much();
    refused();
}
