/*
 * A program that opts out of `membarrier` beforehand never makes the call: a filter would end the program. One that does
 * not, and whose kernel refuses the call later, ends with a message.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "golden.h"

/* A filter for system calls, as installed by sandboxes. */
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

/* From here on the call fails with this error in all threads of the process, and in those that it starts. */
static void refuse_membarrier(int error)
{
    install(SECCOMP_RET_ERRNO | (unsigned)error);
    CHECK(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == error);
}

/* From here on the call ends the process. */
static void end_at_membarrier(void)
{
    install(SECCOMP_RET_KILL_PROCESS);
}

/* Before another case. */
TEST(refused_early)
{
    refuse_membarrier(ENOSYS);
}

static void *produce(void *context)
{
    numbers_client_stream_t out = *(numbers_client_stream_t *)context;
    for (uint64_t i = 0; i < 1000; i++) {
        if (i % 300 == 0) take_a_moment();
        CHECK(numbers_client_stream_send_send(out, i, &out) == DUO_OK);
    }
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    return NULL;
}

static void talk(void)
{
    end_at_membarrier();
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    CHECK(numbers_init(&in, &out) == DUO_OK);
    pthread_t thread = start(produce, &out);
    numbers_stream_t got;
    uint64_t heard = 0;
    while (numbers_server_stream_recv(in, &got) == DUO_OK) {
        CHECK(got.as.send.value == heard++);
        in = got.as.send.next;
    }
    CHECK(heard == 1000);
    finish(thread);
    /* A receiver that closes in a run. */
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(numbers_client_stream_send_send(out, 1, &out) == DUO_CLOSED);
}

/* How a process ends that opts out by calling `say`. */
static int end_of(void (*say)(void))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        say();
        talk();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void by_function(void)
{
    duo_without_membarrier();
}

static void by_variable(void)
{
    CHECK(setenv("DUOLOGUE_NO_MEMBARRIER", "1", 1) == 0);
}

static void by_no_variable(void)
{
    CHECK(setenv("DUOLOGUE_NO_MEMBARRIER", "0", 1) == 0);
}

TEST(without)
{
    CHECK(end_of(by_function) == 0);
    CHECK(end_of(by_variable) == 0);
    CHECK(WIFSIGNALED(end_of(by_no_variable)));
}

/* A process begins a session, is refused the call with this error, and needs it: its messages. */
static void read_messages(int error, char *messages, size_t size)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
        numbers_server_stream_t in = {0};
        numbers_client_stream_t out = {0};
        CHECK(numbers_init(&in, &out) == DUO_OK);
        refuse_membarrier(error);
        (void)numbers_server_stream_close(in);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t count = 1; count > 0; length += (size_t)count) {
        count = read(ends[0], messages + length, size - 1 - length);
        CHECK(count >= 0);
    }
    messages[length] = 0;
    close(ends[0]);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(refused)
{
    static const int errors[] = {EPERM, ENOMEM};
    for (size_t i = 0; i < 2; i++) {
        char messages[4096];
        read_messages(errors[i], messages, sizeof messages);
        CHECK(strstr(messages, strerror(errors[i])) != NULL);
        CHECK(strstr(messages, "DUOLOGUE_NO_MEMBARRIER=1") != NULL);
        CHECK(strstr(messages, "duo_without_membarrier()") != NULL);
    }
}
