/*
 * A side that was attached waits in the pool for the next session: it is kept, not lost. Valgrind can follow this one.
 */
#include "talk.h"

TEST(pooled)
{
    const duo_shm_options options = {.wait = 1};
    for (int i = 0; i < 3; i++) {
        int region = region_of(4096);
        talk_client_ask_t client;
        CHECK(talk_client_attach(region, &options, &client) == DUO_EMPTY);
        close(region);
    }
}
