/* A child process and a region to share with it, for any protocol. */
#ifndef CHILD_H
#define CHILD_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "duologue/shm.h"

/* Runs in a child process, which ends with status 0 unless a check fails, and in any case when its parent ends. */
static inline pid_t start_child(void (*run)(int), int region)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) return child;
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    run(region);
    exit(0);
}

static inline void finish_child(pid_t child)
{
    int ended;
    CHECK(waitpid(child, &ended, 0) == child);
    CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

static inline void kill_child(pid_t child)
{
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
}

static inline int region_of(size_t room)
{
    int region;
    CHECK(duo_shm_create(room, &region) == DUO_OK);
    return region;
}

#endif
