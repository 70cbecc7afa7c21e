/* Numbers that are alike and others, in every order, to another process. */
#include "child.h"
#include "mix.h"
#include "mixed_shm.h"

enum { MESSAGES = 300000 };

static uint64_t seed;

static void hear(int region)
{
    mixed_server_one_t one;
    CHECK(mixed_server_attach(region, NULL, &one) == DUO_OK);
    hear_all(one, seed, MESSAGES);
}

TEST(mixed)
{
    for (uint64_t round = 1; round <= 3; round++) {
        seed = 88172645463325252u * round;
        int region = region_of(4096);
        pid_t child = start_child(hear, region);
        mixed_client_one_t one;
        CHECK(mixed_client_attach(region, NULL, &one) == DUO_OK);
        say_all(one, seed, MESSAGES);
        finish_child(child);
        close(region);
    }
}
