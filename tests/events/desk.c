/* Callbacks: a desk is served by one function, and no code outside of the callbacks knows its states. */
#include <string.h>

#include "call.h"
#include "check.h"
#include "desk_events.h"

enum { FED = 5000 };

/* What the callbacks of a session have seen. */
typedef struct desk {
    size_t asked;
    bool is_slow;
    bool closes;
    uint64_t left;
    call_server_ringing_t kept;
    bool has_left;
} desk;

static desk_server_any_t over(void)
{
    const desk_server_any_t none = {DESK_SERVER_ANY_ENDED, {NULL, 0}};
    return none;
}

static desk_server_any_t asked(duo_str question, uint64_t number, desk_server_answering_t next, void *context)
{
    desk *own = context;
    desk_server_asking_t asking;
    CHECK(duo_str_equal(question, DUO_STR("why")) && number == 7);
    own->asked += 1;
    if (own->closes) {
        CHECK(desk_server_answering_close(next) == DUO_OK);
        return over();
    }
    /* The answer comes later, from elsewhere. */
    if (own->is_slow) return desk_server_answering_any(next);
    CHECK(desk_server_answering_send_answer(next, DUO_STR("because"), &asking) == DUO_OK);
    return desk_server_asking_any(asking);
}

static desk_server_any_t lent(call_server_ringing_t *session, bool keep, desk_server_asking_t next, void *context)
{
    desk *own = context;
    if (keep) own->kept = call_server_ringing_take(session);
    return desk_server_asking_any(next);
}

static desk_server_any_t complained(tone_t tone, mood_t mood, desk_server_asking_t next, void *context)
{
    desk *own = context;
    CHECK(tone == TONE_SOFT_SPOKEN && mood.tag == MOOD_CROSS);
    own->asked += mood.as.cross.level;
    return desk_server_asking_any(next);
}

static desk_server_any_t fed(uint64_t count, desk_server_feeding_t next, void *context)
{
    desk *own = context;
    own->left = count;
    return desk_server_feeding_any(next);
}

static desk_server_any_t rested(desk_server_resting_t next, void *context)
{
    (void)context;
    return desk_server_resting_any(next);
}

static void left(void *context)
{
    desk *own = context;
    own->has_left = true;
}

/* Sends what fits. */
static desk_server_any_t feed(desk_server_feeding_t self, void *context)
{
    desk *own = context;
    desk_server_asking_t asking;
    while (own->left > 0) {
        duo_status status = desk_server_feeding_try_send_item(self, own->left, &self);
        if (status == DUO_FULL) return desk_server_feeding_any(self);
        CHECK(status == DUO_OK);
        own->left -= 1;
    }
    if (desk_server_feeding_try_send_end(self, &asking) == DUO_FULL) return desk_server_feeding_any(self);
    return desk_server_asking_any(asking);
}

static const desk_server_handlers_t HANDLERS = {
    .asking = {.ask = asked, .lend = lent, .complain = complained, .feed = fed, .rest = rested, .bye = left},
    .feeding = feed,
};

static desk_client_asking_t begin(desk_server_any_t *any)
{
    desk_server_asking_t server;
    desk_client_asking_t client;
    CHECK(desk_init(&server, &client) == DUO_OK);
    *any = desk_server_asking_any(server);
    return client;
}

static duo_status step(desk_server_any_t *any, desk *own)
{
    return desk_server_dispatch(any, DUO_AT_ONCE, &HANDLERS, own);
}

static void conversions(void)
{
    desk_server_any_t any;
    desk_client_asking_t client = begin(&any);
    CHECK(any.tag == DESK_SERVER_ASKING && desk_server_any_receives(any));
    CHECK(strcmp(desk_server_any_text(any), "asking") == 0);
    desk_server_answering_t answering;
    CHECK(!desk_server_answering_from(any, &answering));
    CHECK(desk_server_answering_close(answering) == DUO_USED);
    desk_server_asking_t asking;
    CHECK(desk_server_asking_from(any, &asking));
    /* Both are the same endpoint. */
    CHECK(desk_server_asking_close(asking) == DUO_OK);
    CHECK(desk_server_any_close(any) == DUO_USED);
    desk *none = NULL;
    CHECK(step(&any, none) == DUO_USED && any.tag == DESK_SERVER_ASKING);
    desk_client_any_t other = desk_client_asking_any(client);
    CHECK(other.tag == DESK_CLIENT_ASKING && !desk_client_any_receives(other));
    CHECK(desk_client_any_close(other) == DUO_OK);
    any = over();
    CHECK(strcmp(desk_server_any_text(any), "over") == 0);
    CHECK(desk_server_any_close(any) == DUO_OK && step(&any, none) == DUO_USED);
    CHECK(desk_server_any_ready(any).session == NULL && !desk_server_any_receives(any));
}

/* Names for logs. */
static void texts(void)
{
    CHECK(strcmp(DESK_NAME, "desk") == 0);
    CHECK(strcmp(desk_asking_tag_text(DESK_ASKING_LEND), "lend") == 0);
    CHECK(strcmp(desk_answering_tag_text(DESK_ANSWERING_BUSY), "busy") == 0);
    CHECK(strcmp(tone_text(TONE_SOFT_SPOKEN), "soft_spoken") == 0);
    CHECK(strcmp(mood_text(MOOD_CALM), "calm") == 0);
    /* A struct that was never filled. */
    mood_t mood;
    desk_asking_t message;
    memset(&mood, 0, sizeof mood);
    memset(&message, 0, sizeof message);
    CHECK(strcmp(mood_text(mood.tag), "none") == 0);
    CHECK(strcmp(desk_asking_tag_text(message.tag), "none") == 0);
}

static void answers(void)
{
    desk own = {0};
    desk_server_any_t any;
    desk_answering_t answer;
    desk_client_answering_t waiting;
    desk_client_asking_t client = begin(&any);
    CHECK(step(&any, &own) == DUO_EMPTY && any.tag == DESK_SERVER_ASKING);
    CHECK(desk_client_asking_send_ask(client, DUO_STR("why"), 7, &waiting) == DUO_OK);
    CHECK(step(&any, &own) == DUO_OK && any.tag == DESK_SERVER_ASKING && own.asked == 1);
    CHECK(desk_client_answering_recv(waiting, &answer) == DUO_OK);
    CHECK(answer.tag == DESK_ANSWERING_ANSWER);
    desk_answering_free(&answer);

    /* A state in which this side sends, and which has no callback: the program continues when it can. */
    own.is_slow = true;
    CHECK(desk_client_asking_send_ask(answer.as.answer.next, DUO_STR("why"), 7, &waiting) == DUO_OK);
    CHECK(step(&any, &own) == DUO_OK && any.tag == DESK_SERVER_ANSWERING);
    CHECK(step(&any, &own) == DUO_EMPTY && any.tag == DESK_SERVER_ANSWERING);
    desk_server_answering_t answering;
    desk_server_asking_t asking;
    CHECK(desk_server_answering_from(any, &answering));
    CHECK(desk_server_answering_send_busy(answering, &asking) == DUO_OK);
    any = desk_server_asking_any(asking);
    CHECK(desk_client_answering_recv(waiting, &answer) == DUO_OK && answer.tag == DESK_ANSWERING_BUSY);

    /* Values that are enums. */
    client = answer.as.busy.next;
    const mood_t cross = {.tag = MOOD_CROSS, .as = {.cross = {.level = 40}}};
    CHECK(desk_client_asking_send_complain(client, TONE_SOFT_SPOKEN, cross, &client) == DUO_OK);
    CHECK(step(&any, &own) == DUO_OK && own.asked == 42);

    /* A callback that closes the session. */
    own.closes = true;
    CHECK(desk_client_asking_send_ask(client, DUO_STR("why"), 7, &waiting) == DUO_OK);
    CHECK(step(&any, &own) == DUO_OK && any.tag == DESK_SERVER_ANY_ENDED);
    CHECK(desk_client_answering_recv(waiting, &answer) == DUO_CLOSED);
}

static void endings(void)
{
    desk own = {0};
    desk_server_any_t any;
    CHECK(desk_client_asking_send_bye(begin(&any)) == DUO_OK);
    CHECK(step(&any, &own) == DUO_OK && any.tag == DESK_SERVER_ANY_ENDED && own.has_left);
    CHECK(desk_client_asking_close(begin(&any)) == DUO_OK);
    CHECK(step(&any, &own) == DUO_CLOSED && any.tag == DESK_SERVER_ANY_ENDED);
    desk_client_resting_t resting;
    CHECK(desk_client_asking_send_rest(begin(&any), &resting) == DUO_OK);
    CHECK(step(&any, &own) == DUO_OK && any.tag == DESK_SERVER_RESTING);
    CHECK(desk_server_any_ready(any).session == NULL && step(&any, &own) == DUO_USED);
    CHECK(desk_server_any_close(any) == DUO_OK && desk_client_resting_close(resting) == DUO_OK);
}

/* An endpoint in a message: the callback takes it, or it is closed when the callback has returned. */
static void travelers(void)
{
    desk own = {0};
    desk_server_any_t any;
    desk_client_asking_t client = begin(&any);
    for (int keep = 0; keep < 2; keep++) {
        call_server_ringing_t server;
        call_client_ringing_t caller;
        call_ringing_t talk;
        CHECK(call_init(&server, &caller) == DUO_OK);
        CHECK(desk_client_asking_send_lend(client, server, keep != 0, &client) == DUO_OK);
        CHECK(step(&any, &own) == DUO_OK && any.tag == DESK_SERVER_ASKING);
        CHECK(call_client_ringing_send_talk(caller, 3) == (keep ? DUO_OK : DUO_CLOSED));
        if (!keep) continue;
        CHECK(call_server_ringing_recv(own.kept, &talk) == DUO_OK && talk.as.talk.value == 3);
    }
    CHECK(desk_client_asking_close(client) == DUO_OK && desk_server_any_close(any) == DUO_OK);
}

/* A table without a callback is reported in the state that lacks it, before the message arrives. */
static void gaps(void)
{
    desk own = {0};
    desk_server_any_t any;
    desk_client_asking_t client = begin(&any);
    desk_server_handlers_t some = HANDLERS;
    some.asking.lend = NULL;
    CHECK(desk_client_asking_send_bye(client) == DUO_OK);
    CHECK(desk_server_dispatch(&any, DUO_AT_ONCE, &some, &own) == DUO_INVALID);
    CHECK(any.tag == DESK_SERVER_ASKING && !own.has_left);
    CHECK(step(&any, &own) == DUO_OK && own.has_left);
}

static void *eat(void *context)
{
    desk_client_asking_t client = *(desk_client_asking_t *)context;
    desk_client_feeding_t eating;
    CHECK(desk_client_asking_send_feed(client, FED, &eating) == DUO_OK);
    for (uint64_t left_over = FED;; left_over--) {
        desk_feeding_t got;
        CHECK(desk_client_feeding_recv(eating, &got) == DUO_OK);
        if (got.tag == DESK_FEEDING_END) {
            CHECK(left_over == 0);
            CHECK(desk_client_asking_send_bye(got.as.end.next) == DUO_OK);
            return NULL;
        }
        CHECK(got.as.item.value == left_over);
        eating = got.as.item.next;
    }
}

/* A loop that knows no state serves a session to its end: it waits for messages, and for free space. */
static void loop(void)
{
    desk own = {0};
    desk_server_any_t any;
    desk_client_asking_t client = begin(&any);
    pthread_t thread = start(eat, &client);
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    while (any.tag != DESK_SERVER_ANY_ENDED) {
        void *with;
        CHECK(duo_ports_add(ports, desk_server_any_ready(any), &any, NULL) == DUO_OK);
        CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &any);
        CHECK(step(with, &own) == DUO_OK);
    }
    CHECK(own.has_left && own.left == 0);
    duo_ports_free(ports);
    finish(thread);

    /* The same without a set: the call waits itself. */
    client = begin(&any);
    thread = start(eat, &client);
    while (any.tag != DESK_SERVER_ANY_ENDED)
        CHECK(desk_server_dispatch(&any, DUO_FOREVER, &HANDLERS, &own) == DUO_OK);
    finish(thread);
}

int main(void)
{
    conversions();
    texts();
    answers();
    endings();
    travelers();
    gaps();
    loop();
    return 0;
}
