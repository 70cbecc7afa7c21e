/* A child process and a region to share with it, for any protocol. */
#ifndef CHILD_H
#define CHILD_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "duologue/shm.h"

/* Whether a thread of this process other than its first, which forks, is running. */
static inline bool has_running_thread(void)
{
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads != NULL);
    bool is_one = false;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        char path[64], state = 'S';
        long thread = atol(entry->d_name);
        if (thread == 0 || thread == getpid()) continue;
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        if (fscanf(file, "%*d %*s %c", &state) == 1 && state == 'R') is_one = true;
        fclose(file);
    }
    closedir(threads);
    return is_one;
}

/*
 * A thread that is starting allocates, and the address sanitizer's allocator, unlike the C library's, takes no precaution at a
 * fork: the child would find a lock held by a thread that it does not have, and hang. So a thread that has just been
 * created goes to sleep before the fork. Threads that are always busy are not waited for longer than this.
 */
static inline void let_threads_start(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int tries = 0; tries < 100 && has_running_thread(); tries++) nanosleep(&pause, NULL);
}

/* Runs in a child process, which ends with status 0 unless a check fails, and in any case when its parent ends. */
static inline pid_t start_child(void (*run)(int), int region)
{
    let_threads_start();
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

/* Waits until the child has stopped itself; it is alive the whole time. */
static inline void await_stop(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
}

static inline int region_of(size_t space)
{
    int region;
    CHECK(duo_shm_create(space, &region) == DUO_OK);
    return region;
}

#endif
