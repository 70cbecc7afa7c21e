/* The system refuses to sleep on many words at once: a thread that waits for many sessions naps, and does not spin. */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "duologue/ready.h"
#include "talk.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

enum { WAIT = 100 };

static int answer;
static unsigned asked;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The program is linked with `--wrap=syscall`. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number != SYS_futex_waitv) return __real_syscall(number, a, b, c, d, e, f);
    asked += 1;
    errno = answer;
    return -1;
}

/* Whether a thread has napped that has waited. A nap takes a millisecond at least, so there is no time for more of them; on a busy machine the
 * time may be over before the first. */
static bool has_napped(void)
{
    unsigned naps = asked;
    asked = 0;
    CHECK(naps <= WAIT + 1);
    return naps > 0;
}

static void refused_with(int error, duo_endpoint waiting)
{
    const uint64_t wait = WAIT * UINT64_C(1000000);
    answer = error;
    size_t which;
    do CHECK(duo_select(&waiting, 1, wait, &which) == DUO_EMPTY);
    while (!has_napped());
    duo_ports *ports = duo_ports_new();
    void *with;
    CHECK(ports != NULL && duo_ports_add(ports, waiting, NULL, NULL) == DUO_OK);
    do CHECK(duo_ports_wait(ports, wait, &with) == DUO_EMPTY);
    while (!has_napped());
    duo_ports_free(ports);
}

TEST(refused)
{
    int region = region_of(4096);
    pid_t child = start_child(serve_nothing, region);
    talk_client_answer_t waiting;
    CHECK(talk_client_ask_send_number(attach_client(region), 1, &waiting) == DUO_OK);
    const int errors[] = {ENOSYS, EPERM, EACCES, ENOMEM, EINVAL, EFAULT};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        refused_with(errors[i], DUO_READY(waiting));
    kill_child(child);
}
