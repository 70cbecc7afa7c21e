/* Refuses `membarrier` to a test: from the start, or where the test wants it. */
#define _GNU_SOURCE
#include "refuse.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static void install(unsigned answer)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
}

void refuse_membarrier(int error)
{
    install(SECCOMP_RET_ERRNO | (unsigned)error);
    CHECK(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == error);
}

void end_at_membarrier(void)
{
    install(SECCOMP_RET_KILL_PROCESS);
}

/* Before another case. */
TEST(refused_early)
{
    refuse_membarrier(ENOSYS);
}
