/* What duologue/net.h promises, one promise after the other. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bump_net.h"
#include "carry.h"
#include "flows.h"
#include "later_net.h"
#include "latest_net.h"
#include "listen_net.h"
#include "prompt_net.h"
#include "talk_net.h"

static const char address[] = "unix:sessions.sock";

static duo_listener *listen_here(const duo_net_options *options)
{
    duo_listener *listener = new_listener(address, options);
    CHECK(strcmp(duo_listener_address(listener), address) == 0);
    return listener;
}

static void addresses(void)
{
    static const char *const wrong[] = {"", "bank", "http://a:1", "tcp://", "tcp://host", "tcp://host:", "tcp://host:http",
                                        "tcp://::1:7000", "tcp://[::1:7000", "unix:", "tls://host"};
    talk_client_ask_t client;
    duo_listener *listener;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(talk_client_connect(wrong[i], NULL, &client) == DUO_ADDRESS);
        CHECK(duo_listen(wrong[i], NULL, &listener) == DUO_ADDRESS);
    }
    CHECK(talk_client_connect("tls://host:7000", NULL, &client) == DUO_CERTIFICATES);
    CHECK(duo_listen("tls://host:7000", NULL, &listener) == DUO_CERTIFICATES);
    char path[200] = "unix:";
    memset(path + 5, 'a', 150);
    CHECK(duo_listen(path, NULL, &listener) == DUO_SYSTEM && errno == ENAMETOOLONG);
    CHECK(talk_client_connect(address, NULL, &client) == DUO_SYSTEM && errno == ENOENT);
    /* A name in use, a stale one, and a file that is none. */
    duo_listener *first = listen_here(NULL);
    CHECK(duo_listen(address, NULL, &listener) == DUO_SYSTEM && errno == EADDRINUSE);
    char saved[80];
    snprintf(saved, sizeof saved, "%s.saved", address + 5);
    CHECK(link(address + 5, saved) == 0);
    duo_listener_close(first);
    CHECK(rename(saved, address + 5) == 0);
    CHECK(talk_client_connect(address, NULL, &client) == DUO_SYSTEM && errno == ECONNREFUSED);
    duo_listener_close(listen_here(NULL));
    CHECK(access(address + 5, F_OK) != 0);
    FILE *file = fopen(address + 5, "w");
    CHECK(file != NULL && fclose(file) == 0);
    CHECK(duo_listen(address, NULL, &listener) == DUO_SYSTEM && errno == EADDRINUSE);
    CHECK(unlink(address + 5) == 0);
    /* A free port, in the same form. */
    CHECK(duo_listen("tcp://127.0.0.1:0", NULL, &listener) == DUO_OK);
    CHECK(strncmp(duo_listener_address(listener), "tcp://127.0.0.1:", 16) == 0);
    CHECK(strcmp(duo_listener_address(listener), "tcp://127.0.0.1:0") != 0);
    CHECK(talk_client_accept(listener, UINT64_C(1000000), &client) == DUO_EMPTY);
    duo_listener_close(listener);
}

struct connecting {
    const duo_net_options *options;
    duo_status status;
    talk_client_ask_t client;
    DUO_ATOMIC int is_over;
};

static void *connect_talk(void *context)
{
    struct connecting *here = context;
    here->status = talk_client_connect(address, here->options, &here->client);
    duo_atomic_store(&here->is_over, 1, memory_order_release);
    return NULL;
}

/* Accepts, as either side, until the client that connects is refused, which is not an answer for the program. */
static void refuse(duo_listener *listener, bool is_client, struct connecting *connecting)
{
    talk_server_ask_t server;
    talk_client_ask_t client;
    const uint64_t moment = UINT64_C(1000000);
    duo_atomic_store(&connecting->is_over, 0, memory_order_relaxed);
    pthread_t thread = start(connect_talk, connecting);
    while (duo_atomic_load(&connecting->is_over, memory_order_acquire) == 0) {
        duo_status status = is_client ? talk_client_accept(listener, moment, &client)
                                      : talk_server_accept(listener, moment, &server);
        CHECK(status == DUO_EMPTY);
    }
    finish(thread);
    CHECK(connecting->status == DUO_REFUSED);
}

static bool admit(const duo_peer *peer, void *context)
{
    CHECK(duo_str_equal(peer->name, DUO_STR("talk")) && peer->trace.size == 0);
    *(int *)context += 1;
    return peer->token.size == 4 && memcmp(peer->token.data, "let.", 4) == 0;
}

/* Every reason to refuse that depends on options. */
static void refusals(void)
{
    duo_refusal refusal = {0, 0};
    duo_net_options client = {.refusal = &refusal};
    struct connecting connecting = {.options = &client};
    int asked = 0;
    const duo_net_options server = {.admit = admit, .context = &asked, .sessions = 1};
    duo_listener *listener = listen_here(&server);
    talk_server_ask_t served, none;
    refuse(listener, false, &connecting);
    CHECK(asked == 1 && refusal.verdict == DUO_VERDICT_NOT_ADMITTED);
    CHECK(strcmp(duo_verdict_text(refusal.verdict), "not admitted") == 0);
    client.token = (duo_bytes){(const uint8_t *)"let.", 4};
    pthread_t thread = start(connect_talk, &connecting);
    CHECK(talk_server_accept(listener, DUO_FOREVER, &served) == DUO_OK);
    finish(thread);
    CHECK(connecting.status == DUO_OK);
    talk_client_ask_t kept = connecting.client;
    /* A second session at the same time, and another side. */
    refuse(listener, false, &connecting);
    CHECK(refusal.verdict == DUO_VERDICT_SESSIONS_FULL);
    duo_load load = duo_listener_load(listener);
    CHECK(load.sessions == 1 && load.is_full && !load.is_draining);
    CHECK(talk_client_ask_close(kept) == DUO_OK);
    CHECK(talk_server_ask_close(served) == DUO_OK);
    refuse(listener, true, &connecting);
    CHECK(refusal.verdict == DUO_VERDICT_SAME_SIDE);
    duo_listener_drain(listener, 0);
    CHECK(duo_listener_load(listener).is_draining);
    CHECK(talk_server_accept(listener, DUO_FOREVER, &none) == DUO_CLOSED);
    duo_listener_close(listener);
}

static const duo_fingerprint talks = TALK_FINGERPRINT;

/* An older client with a later server, which accepts it; the names of the two sides may be exchanged as well. */
static void versions(void)
{
    const duo_net_options options = {.accepts = &talks, .accepts_count = 1};
    meeting connects = {.protocol = &duo_wire_of_listen, .role = DUO_SERVER};
    meeting accepts = {.protocol = &duo_wire_of_later, .role = DUO_SERVER, .options = &options};
    meet(&connects, &accepts);
    CHECK(connects.status == DUO_OK && accepts.status == DUO_OK);
    CHECK(later_server_ask_close((later_server_ask_t){accepts.endpoint}) == DUO_OK);
    listen_server_ask_t client = {connects.endpoint};
    listen_server_answer_t waiting;
    listen_answer_t answer;
    CHECK(listen_server_ask_send_number(client, 1, &waiting) != DUO_OK ||
          listen_server_answer_recv(waiting, &answer) == DUO_CLOSED);
}

/* The protocol file says which side accepts the older version: servers of `latest`, and clients of `prompt`. */
static void written_versions(void)
{
    meeting bump = {.protocol = &duo_wire_of_bump, .role = DUO_CLIENT};
    meeting latest = {.protocol = &duo_wire_of_latest, .role = DUO_SERVER};
    meet(&bump, &latest);
    CHECK(bump.status == DUO_OK && latest.status == DUO_OK);
    CHECK(bump_client_ask_send_end((bump_client_ask_t){bump.endpoint}) == DUO_OK);
    latest_ask_t asked;
    CHECK(latest_server_ask_recv((latest_server_ask_t){latest.endpoint}, &asked) == DUO_OK && asked.tag == LATEST_ASK_END);

    /* 16 from the program leave no space for those of the file. */
    static const duo_fingerprint others[16];
    const duo_net_options full = {.accepts = others, .accepts_count = 16}, some = {.accepts = others, .accepts_count = 15};
    meeting prompt = {.protocol = &duo_wire_of_prompt, .role = DUO_CLIENT, .options = &full};
    bump.role = DUO_SERVER;
    meet(&prompt, &bump);
    CHECK(prompt.status == DUO_REFUSED && bump.status == DUO_REFUSED);
    prompt.options = &some;
    meet(&prompt, &bump);
    CHECK(prompt.status == DUO_OK && bump.status == DUO_OK);
    CHECK(prompt_client_ask_send_end((prompt_client_ask_t){prompt.endpoint}) == DUO_OK);
    bump_ask_t told;
    CHECK(bump_server_ask_recv((bump_server_ask_t){bump.endpoint}, &told) == DUO_OK && told.tag == BUMP_ASK_END);

    /* Neither of these accepts the other. */
    prompt.options = NULL;
    meet(&prompt, &latest);
    CHECK(prompt.status == DUO_REFUSED && latest.status == DUO_REFUSED);
}

/* What was collected arrives without another word of the sender, or at once when it asks for it. */
static void collected(void)
{
    struct flowing flowing = begin_flow();
    flow_flow_t got;
    CHECK(flow_server_flow_try_recv(flowing.server, &got) == DUO_EMPTY);
    CHECK(flow_client_flow_send_number(flowing.client, 1, &flowing.client) == DUO_OK);
    CHECK(flow_server_flow_recv(flowing.server, &got) == DUO_OK && got.as.number.value == 1);
    CHECK(flow_client_flow_send_number(flowing.client, 2, &flowing.client) == DUO_OK);
    CHECK(DUO_FLUSH(flowing.client) == DUO_OK);
    CHECK(flow_server_flow_try_recv(got.as.number.next, &got) == DUO_OK && got.as.number.value == 2);
    CHECK(flow_client_flow_close(flowing.client) == DUO_OK);
    CHECK(DUO_FLUSH(flowing.client) == DUO_USED);
    CHECK(flow_server_flow_recv(got.as.number.next, &got) == DUO_CLOSED);
}

/* What a handler's thread keeps until it exits. */
static pthread_key_t kept;
static DUO_ATOMIC int kept_count;

static void free_kept(void *value)
{
    (void)value;
    /* Long enough for a listener that does not wait for its threads to end first. */
    struct timespec moment = {0, 5000000};
    nanosleep(&moment, NULL);
    duo_atomic_fetch_add(&kept_count, -1, memory_order_relaxed);
}

static void hold(talk_server_ask_t server, const duo_peer *peer, void *context)
{
    (void)peer;
    duo_atomic_fetch_add(&kept_count, 1, memory_order_relaxed);
    CHECK(pthread_setspecific(kept, context) == 0);
    talk_ask_t asked;
    duo_status status = talk_server_ask_recv(server, &asked);
    CHECK(status == DUO_LOST || status == DUO_CLOSED);
    duo_atomic_fetch_add((DUO_ATOMIC int *)context, 1, memory_order_relaxed);
}

static void count_end(duo_observed_session *session, const duo_observed_end *end, void *context)
{
    (void)session;
    CHECK(end->why == DUO_LOST || end->why == DUO_CLOSED);
    duo_atomic_fetch_add((DUO_ATOMIC int *)context, 1, memory_order_relaxed);
}

/* Several protocols on one listener, and its end: all handlers have returned, and an observer without other members knows all ends. */
static void serving(void)
{
    DUO_ATOMIC int ended = 0, observed = 0;
    const duo_observer observer = {.ended = count_end, .context = (void *)(uintptr_t)&observed};
    const duo_net_options own = {.observer = &observer};
    CHECK(pthread_key_create(&kept, free_kept) == 0);
    duo_listener *listener = listen_here(NULL);
    CHECK(talk_server_serve(listener, &own, hold, (void *)(uintptr_t)&ended) == DUO_OK);
    pthread_t thread = start(run_listener, listener);
    enum { MANY = 20 };
    talk_client_ask_t clients[MANY];
    duo_refusal refusal = {0, 0};
    const duo_net_options options = {.refusal = &refusal};
    flow_client_flow_t unknown;
    CHECK(flow_client_connect(address, &options, &unknown) == DUO_REFUSED);
    CHECK(refusal.verdict == DUO_VERDICT_UNKNOWN_PROTOCOL);
    for (size_t i = 0; i < MANY; i++) CHECK(talk_client_connect(address, NULL, &clients[i]) == DUO_OK);
    for (size_t i = 0; i < MANY / 2; i++) CHECK(talk_client_ask_close(clients[i]) == DUO_OK);
    duo_listener_drain(listener, UINT64_C(50000000));
    finish(thread);
    CHECK(duo_atomic_load(&ended, memory_order_relaxed) == MANY);
    CHECK(duo_atomic_load(&observed, memory_order_relaxed) == MANY);
    CHECK(duo_atomic_load(&kept_count, memory_order_relaxed) == 0);
    CHECK(pthread_key_delete(kept) == 0);
    for (size_t i = MANY / 2; i < MANY; i++) CHECK(talk_client_ask_close(clients[i]) == DUO_OK);
    duo_listener_close(listener);
}

/* What `admit_as` stores: which peer it is, and whether its value was released. */
struct owner {
    char name;
    DUO_ATOMIC int released;
    DUO_ATOMIC int handled;
};

struct accounts {
    struct owner owners[2];
    /* For `admit_as` and `release`, and for the handler. */
    struct owner *refused;
    DUO_ATOMIC int asked;
};

static bool find_owner(const duo_peer *peer, void **value, void *context)
{
    struct accounts *here = context;
    CHECK(*value == NULL && peer->value == NULL);
    CHECK(peer->has_user && peer->user == (uint32_t)getuid());
    duo_atomic_fetch_add(&here->asked, 1, memory_order_relaxed);
    /* A value of a peer that is refused is released, too. */
    *value = here->refused;
    for (size_t i = 0; i < 2 && peer->token.size == 1; i++)
        if ((char)peer->token.data[0] == here->owners[i].name) *value = &here->owners[i];
    return *value != here->refused;
}

static void release_owner(void *value, void *context)
{
    struct owner *owner = value;
    CHECK(context != NULL);
    /* Not before the handler has returned. */
    CHECK(duo_atomic_load(&owner->handled, memory_order_acquire) == 1);
    duo_atomic_fetch_add(&owner->released, 1, memory_order_release);
}

static void handle_owner(talk_server_ask_t server, const duo_peer *peer, void *context)
{
    struct owner *owner = peer->value;
    (void)context;
    CHECK(duo_net_admitted(server.receives) == owner);
    talk_ask_t asked;
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_TEXT);
    talk_server_answer_t answer = asked.as.text.next;
    CHECK(duo_net_admitted(answer.sends) == owner && duo_net_admitted(server.receives) == NULL);
    CHECK(talk_server_answer_send_text(answer, asked.as.text.value, &server) == DUO_OK);
    talk_ask_free(&asked);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_END);
    /* The session is over, and the value is still there. */
    CHECK(duo_atomic_load(&owner->released, memory_order_acquire) == 0);
    duo_atomic_store(&owner->handled, 1, memory_order_release);
}

static duo_status visit(char name)
{
    const uint8_t token = (uint8_t)name;
    const duo_net_options options = {.token = {&token, 1}};
    talk_client_ask_t client;
    duo_status status = talk_client_connect(address, &options, &client);
    if (status != DUO_OK) return status;
    CHECK(duo_net_admitted(client.sends) == NULL);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_text(client, DUO_STR("hello"), &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
    client = answer.as.text.next;
    talk_answer_free(&answer);
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
    return DUO_OK;
}

/* Handlers get what was found about their peers, and it is released once, after them. */
static void values(void)
{
    struct owner refused = {.handled = 1};
    struct accounts accounts = {.owners = {{.name = 'a'}, {.name = 'b'}}, .refused = &refused};
    const duo_net_options options = {.admit_as = find_owner, .release = release_owner, .context = &accounts};
    duo_listener *listener = listen_here(&options);
    CHECK(talk_server_serve(listener, NULL, handle_owner, NULL) == DUO_OK);
    pthread_t thread = start(run_listener, listener);
    CHECK(visit('a') == DUO_OK);
    CHECK(visit('c') == DUO_REFUSED);
    CHECK(visit('b') == DUO_OK);
    end_listener(listener, thread, DUO_FOREVER);
    for (size_t i = 0; i < 2; i++) CHECK(duo_atomic_load(&accounts.owners[i].released, memory_order_acquire) == 1);
    CHECK(duo_atomic_load(&refused.released, memory_order_acquire) == 1);
    CHECK(duo_atomic_load(&accounts.asked, memory_order_relaxed) == 3);
}

/* A session that is accepted has its value until it is over. */
static void accepted_value(void)
{
    struct accounts accounts = {.owners = {{.name = 'a', .handled = 1}}};
    const duo_net_options options = {.admit_as = find_owner, .release = release_owner, .context = &accounts};
    duo_listener *listener = listen_here(&options);
    const duo_net_options token = {.token = {(const uint8_t *)"a", 1}};
    meeting client = {.protocol = &duo_wire_of_talk, .options = &token};
    talk_server_ask_t server;
    meet_at(listener, &client, &duo_wire_of_talk, &server.receives);
    duo_listener_close(listener);
    CHECK(duo_net_admitted(server.receives) == &accounts.owners[0]);
    CHECK(talk_client_ask_close((talk_client_ask_t){client.endpoint}) == DUO_OK);
    talk_ask_t asked;
    CHECK(duo_net_admitted(server.receives) == &accounts.owners[0]);
    CHECK(duo_atomic_load(&accounts.owners[0].released, memory_order_acquire) == 0);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_CLOSED);
    CHECK(duo_net_admitted(server.receives) == NULL);
    CHECK(duo_atomic_load(&accounts.owners[0].released, memory_order_acquire) == 1);
}

/* Over a socket, an endpoint that was taken from the wrong member of a message is never accepted. */
static void wrong_members(void)
{
    talk_client_ask_t client;
    talk_server_ask_t server;
    talk_client_answer_t waiting;
    talk_ask_t asked;
    talk_answer_t answer;
    meet_both(&duo_wire_of_talk, &client.sends, &server.receives);
    CHECK(talk_client_ask_send_more(client, 1, &client) == DUO_OK);
    CHECK(talk_client_answer_recv((talk_client_answer_t){client.sends}, &answer) == DUO_USED && answer.tag == 0);
    CHECK(talk_client_ask_send_number(client, 1, &waiting) == DUO_OK);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_MORE);
    CHECK(talk_server_answer_send_number(asked.as.number.next, 2, &server) == DUO_USED);
    server = asked.as.more.next;
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_NUMBER);
    CHECK(talk_server_answer_send_number(asked.as.number.next, 2, &server) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.as.number.value == 2);
    CHECK(talk_client_ask_close(answer.as.number.next) == DUO_OK);
    CHECK(talk_server_ask_close(server) == DUO_OK);
}

/* What a handler does with its endpoint before it returns. */
typedef enum leaves { NOTHING, RECEIVES, HANDS_OVER, SHARES, SENDS } leaves;

struct left {
    leaves how;
    flow_server_flow_t server;
    flow_client_flow_t client;
    flow_client_flow_shared_t shared;
    carry_client_carry_t through;
};

static void serve_flow(flow_server_flow_t server, const duo_peer *peer, void *context)
{
    struct left *left = context;
    flow_flow_t got;
    (void)peer;
    if (left->how == RECEIVES) CHECK(flow_server_flow_recv(server, &got) == DUO_OK);
    if (left->how == HANDS_OVER) duo_net_hand_over(server.receives);
    left->server = server;
    if (left->how == SENDS) CHECK(carry_client_carry_send_take(left->through, server, &left->through) == DUO_OK);
}

static void play_flow(flow_client_flow_t client, const duo_peer *peer, void *context)
{
    struct left *left = context;
    (void)peer;
    if (left->how == SHARES) CHECK(flow_client_flow_share(client, &left->shared) == DUO_OK);
}

/* A session that a handler has forgotten ends with the handler. One that it has handed over goes on. */
static void handlers_return(leaves how)
{
    struct left left = {.how = how};
    carry_server_carry_t carried;
    carry_carry_t parcel;
    flow_flow_t got;
    CHECK(carry_init(&carried, &left.through) == DUO_OK);
    duo_listener *listener = listen_here(NULL);
    pthread_t thread;
    if (how == SHARES) {
        CHECK(flow_client_serve(listener, NULL, play_flow, &left) == DUO_OK);
        thread = start(run_listener, listener);
        CHECK(flow_server_connect(address, NULL, &left.server) == DUO_OK);
    } else {
        CHECK(flow_server_serve(listener, NULL, serve_flow, &left) == DUO_OK);
        thread = start(run_listener, listener);
        CHECK(flow_client_connect(address, NULL, &left.client) == DUO_OK);
        /* A session that is forgotten at once may have ended by now. */
        if (how != NOTHING) {
            CHECK(flow_client_flow_send_number(left.client, 1, &left.client) == DUO_OK);
            CHECK(DUO_FLUSH(left.client) == DUO_OK);
        }
    }
    duo_listener_stop(listener);
    /* All handlers have returned. */
    finish(thread);
    duo_listener_close(listener);
    duo_status status = DUO_OK;
    switch (how) {
    case NOTHING:
    case RECEIVES:
        while (status == DUO_OK) status = flow_client_flow_send_number(left.client, 2, &left.client);
        CHECK(status == DUO_CLOSED);
        break;
    case SHARES:
        CHECK(flow_client_flow_shared_send_number(left.shared, 1) == DUO_OK);
        flow_client_flow_shared_release(left.shared);
        break;
    case SENDS:
        CHECK(carry_server_carry_recv(carried, &parcel) == DUO_OK && parcel.tag == CARRY_CARRY_TAKE);
        left.server = flow_server_flow_take(&parcel.as.take.value);
        carried = parcel.as.take.next;
        carry_carry_free(&parcel);
        break;
    case HANDS_OVER: break;
    }
    if (how >= HANDS_OVER) {
        CHECK(flow_server_flow_recv(left.server, &got) == DUO_OK && got.as.number.value == 1);
        CHECK(flow_server_flow_close(got.as.number.next) == DUO_OK);
    }
    if (how == HANDS_OVER || how == SENDS) CHECK(flow_client_flow_close(left.client) == DUO_OK);
    CHECK(carry_client_carry_close(left.through) == DUO_OK);
    CHECK(carry_server_carry_close(carried) == DUO_OK);
}

static void full(void)
{
    check_full(begin_flow(), true);
}

TEST(sessions)
{
    addresses();
    refusals();
    versions();
    written_versions();
    collected();
    full();
    check_left(begin_flow());
    serving();
    values();
    accepted_value();
    wrong_members();
    for (leaves how = NOTHING; how <= SENDS; how++) handlers_return(how);
    CHECK(duo_shutdown() == 0);
}
