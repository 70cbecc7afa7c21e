/* The connection to NATS, and clients that find servers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../src/floor/floor.h"
#include "nats.h"

/* In milliseconds: how long connecting and confirming may take, and the pause before the library connects again. */
enum { CONNECTING = 5000, SETTLING = 2000, PAUSE = 250 };

/* How long servers have to answer before a client asks those of the next protocol, or again; in nanoseconds. */
#define PATIENCE UINT64_C(250000000)

#define MILLISECOND UINT64_C(1000000)

/* The longest name, and how many addresses with which there was no session are remembered. */
enum { MOST_NAME = 128, MOST_EXCLUDED = 16 };

/* A search for a server. */
typedef struct search {
    const duo_nats *nats;
    const char *name;
    const duo_wire_protocol *protocol;
    duo_role role;
    const duo_net_options *options;
    duo_problem *problem;
    uint64_t until;
    /* Where answers arrive. */
    natsInbox *inbox;
    natsSubscription *answers;
    /* What has answered last, and addresses with which there was no session. */
    char address[DUO_NATS_ADDRESS];
    char excluded[MOST_EXCLUDED][DUO_NATS_ADDRESS];
    size_t excluded_count;
} search;

bool duo_nats_subject(char subject[DUO_NATS_SUBJECT], const char *name, const duo_fingerprint *fingerprint, duo_problem *problem)
{
    static const char plain[] = ".ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t size = strlen(name);
    bool is_plain = size > 0 && size <= MOST_NAME && strspn(name, plain) == size;
    if (!is_plain || name[0] == '.' || name[size - 1] == '.' || strstr(name, "..") != NULL) {
        duo_net_explain(problem, "`%.140s` is not the name of a service: a name has at most 128 letters, digits, `-`, `_`, and dots between them", name);
        return false;
    }
    int length = snprintf(subject, DUO_NATS_SUBJECT, "duologue.%s.", name);
    for (size_t i = 0; i < sizeof fingerprint->bytes; i++)
        length += snprintf(subject + length, DUO_NATS_SUBJECT - (size_t)length, "%02x", fingerprint->bytes[i]);
    return true;
}

duo_status duo_nats_failed(const duo_nats *nats, natsStatus status, duo_problem *problem)
{
    duo_net_explain(problem, "cannot reach NATS at `%s`: %s; check that it runs there and accepts this program", nats->server, natsStatus_GetText(status));
    errno = status == NATS_CONNECTION_AUTH_FAILED ? EACCES : ECONNREFUSED;
    return status == NATS_NO_MEMORY ? DUO_NO_MEMORY : DUO_SYSTEM;
}

duo_status duo_nats_settle(const duo_nats *nats, const char *subject, duo_problem *problem)
{
    char quoted[DUO_NATS_SUBJECT + 2];
    const char *report = NULL;
    natsStatus status = natsConnection_FlushTimeout(nats->connection, SETTLING);
    if (status != NATS_OK) return duo_nats_failed(nats, status, problem);
    snprintf(quoted, sizeof quoted, "\"%s\"", subject);
    (void)natsConnection_GetLastError(nats->connection, &report);
    if (report == NULL || strstr(report, quoted) == NULL) return DUO_OK;
    duo_net_explain(problem, "NATS at `%s` does not permit it: %s (docs/wire.md, \"Finding servers with NATS\", lists what a user needs)",
                    nats->server, report);
    errno = EACCES;
    return DUO_SYSTEM;
}

/* The fingerprint of this side's protocol, and after it those that it accepts; NULL after the last. */
static const duo_fingerprint *fingerprint_at(const search *here, size_t i)
{
    const size_t given = here->options->accepts_count, own = here->protocol->accepts_count[here->role];
    if (i == 0) return &here->protocol->fingerprint;
    if (i <= given) return &here->options->accepts[i - 1];
    return i <= given + own ? &here->protocol->accepts[here->role][i - given - 1] : NULL;
}

/* Takes the address of an answer, unless it is excluded. */
static bool take(search *here, natsMsg *answer)
{
    int size = natsMsg_GetDataLength(answer);
    if (size < 6 || size >= DUO_NATS_ADDRESS) return false;
    snprintf(here->address, sizeof here->address, "%.*s", size, natsMsg_GetData(answer));
    for (size_t i = 0; i < here->excluded_count; i++)
        if (strcmp(here->excluded[i], here->address) == 0) return false;
    return strncmp(here->address, "tcp://", 6) == 0 || strncmp(here->address, "tls://", 6) == 0;
}

/* Asks the servers of a protocol once. DUO_EMPTY: they do not answer. DUO_REFUSED: there are none. */
static duo_status ask(search *here, const char *subject)
{
    natsStatus status = natsConnection_PublishRequest(here->nats->connection, subject, here->inbox, NULL, 0);
    uint64_t until = duo_until(PATIENCE), now;
    if (here->until < until) until = here->until;
    while (status == NATS_OK && (now = duo_now()) < until) {
        natsMsg *answer = NULL;
        status = natsSubscription_NextMsg(&answer, here->answers, (int64_t)((until - now) / MILLISECOND) + 1);
        bool is_taken = status == NATS_OK && take(here, answer);
        natsMsg_Destroy(answer);
        if (is_taken) return DUO_OK;
    }
    if (status == NATS_NO_RESPONDERS) return DUO_REFUSED;
    if (status != NATS_OK && status != NATS_TIMEOUT) return duo_nats_failed(here->nats, status, here->problem);
    /* The NATS server does not answer either if it does not permit the request, or cannot be reached. */
    duo_status settled = duo_nats_settle(here->nats, subject, here->problem);
    return settled == DUO_OK ? DUO_EMPTY : settled;
}

/* Asks the servers of each protocol in turn, until one answers. DUO_EMPTY: none does in time. DUO_REFUSED: there are none. */
static duo_status find(search *here)
{
    char subject[DUO_NATS_SUBJECT];
    const duo_fingerprint *fingerprint;
    for (;;) {
        duo_status result = DUO_REFUSED;
        for (size_t i = 0; (fingerprint = fingerprint_at(here, i)) != NULL; i++) {
            if (!duo_nats_subject(subject, here->name, fingerprint, here->problem)) return DUO_ADDRESS;
            duo_status status = ask(here, subject);
            if (status == DUO_EMPTY) result = status;
            else if (status != DUO_REFUSED) return status;
        }
        if (result == DUO_REFUSED)
            duo_net_explain(here->problem,
                            "no server has announced `%s` for a protocol that this side understands: check that one is running, the name, and the output "
                            "of `duologue fingerprint` on both sides; asked last on %s",
                            here->name, subject);
        if (result == DUO_REFUSED || duo_gives_up(here->until)) return result;
    }
}

/* Connects to the servers that are found, one after the other. */
static duo_status connect_to_found(search *here, duo_endpoint *endpoint)
{
    duo_status last = DUO_EMPTY;
    duo_refusal refusal = {0, 0};
    duo_net_options options = *here->options;
    options.directory = NULL;
    options.service = here->name;
    options.problem = here->problem;
    if (options.refusal == NULL) options.refusal = &refusal;
    for (;;) {
        duo_status status = find(here);
        if (status == DUO_EMPTY && last == DUO_EMPTY)
            duo_net_explain(here->problem, "all servers of `%s` are full or draining: try again later", here->name);
        if (status == DUO_EMPTY) return last == DUO_EMPTY ? DUO_LATE : last;
        if (status == DUO_REFUSED) *options.refusal = (duo_refusal){DUO_VERDICT_UNKNOWN_PROTOCOL, 0};
        if (status != DUO_OK) return status;
        /* One that does not answer leaves time for others. */
        uint64_t now = duo_now();
        options.hello = here->until > now ? (here->until - now) / 2 + 1 : 1;
        last = duo_net_connect(here->address, here->protocol, here->role, &options, endpoint);
        /* One that is full or drains will not answer while that lasts. */
        bool is_busy = last == DUO_REFUSED && (options.refusal->verdict == DUO_VERDICT_SESSIONS_FULL ||
                                               options.refusal->verdict == DUO_VERDICT_DRAINING);
        if (last == DUO_OK || last == DUO_CERTIFICATES || duo_is_canceled() || (last == DUO_REFUSED && !is_busy)) return last;
        if (!is_busy && here->excluded_count < MOST_EXCLUDED)
            memcpy(here->excluded[here->excluded_count++], here->address, sizeof here->address);
    }
}

static duo_status connect_by_name(const duo_directory *directory, const char *name, const duo_wire_protocol *protocol, duo_role role,
                                  const duo_net_options *options, duo_endpoint *endpoint)
{
    duo_problem ignored;
    search *here = duo_allocate(sizeof *here);
    *endpoint = (duo_endpoint){NULL, 0};
    if (here == NULL) return DUO_NO_MEMORY;
    *here = (search){.nats = (const duo_nats *)(const void *)directory, .name = name, .protocol = protocol, .role = role, .options = options};
    here->problem = options->problem != NULL ? options->problem : &ignored;
    here->until = duo_until(options->hello != 0 ? options->hello : DUO_NET_HELLO);
    natsStatus made = natsInbox_Create(&here->inbox);
    if (made == NATS_OK) made = natsConnection_SubscribeSync(&here->answers, here->nats->connection, here->inbox);
    duo_status status = made == NATS_OK ? connect_to_found(here, endpoint) : duo_nats_failed(here->nats, made, here->problem);
    int reason = errno;
    natsSubscription_Destroy(here->answers);
    natsInbox_Destroy(here->inbox);
    duo_release(here);
    errno = reason;
    return status;
}

/* Without this the library prints errors, such as what is not permitted. */
static void ignore_error(natsConnection *connection, natsSubscription *subscription, natsStatus status, void *context)
{
    (void)connection, (void)subscription, (void)status, (void)context;
}

duo_status duo_directory_open(const char *server, duo_nats_setup *setup, void *context, duo_directory **directory, duo_problem *problem)
{
    duo_problem ignored;
    natsOptions *options = NULL;
    char url[DUO_NATS_ADDRESS + 16];
    duo_nats *made = duo_allocate(sizeof *made);
    *directory = NULL;
    if (made == NULL) return DUO_NO_MEMORY;
    *made = (duo_nats){.directory = {connect_by_name}};
    snprintf(made->server, sizeof made->server, "%s", server);
    snprintf(url, sizeof url, "nats://%s", made->server);
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK) status = natsOptions_SetURL(options, url);
    if (status == NATS_OK) status = natsOptions_SetTimeout(options, CONNECTING);
    if (status == NATS_OK) status = natsOptions_SetMaxReconnect(options, -1);
    if (status == NATS_OK) status = natsOptions_SetReconnectWait(options, PAUSE);
    if (status == NATS_OK) status = natsOptions_SetSendAsap(options, true);
    if (status == NATS_OK) status = natsOptions_SetErrorHandler(options, ignore_error, NULL);
    if (status == NATS_OK && setup != NULL) status = setup(options, context);
    if (status == NATS_OK) status = natsConnection_Connect(&made->connection, options);
    natsOptions_Destroy(options);
    if (status == NATS_OK) {
        *directory = &made->directory;
        return DUO_OK;
    }
    duo_status failed = duo_nats_failed(made, status, problem != NULL ? problem : &ignored);
    int reason = errno;
    duo_release(made);
    errno = reason;
    return failed;
}

void duo_directory_close(duo_directory *directory)
{
    if (directory == NULL) return;
    natsConnection_Destroy(((duo_nats *)(void *)directory)->connection);
    duo_release(directory);
}
