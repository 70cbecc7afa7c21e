/*
 * A sender of a value that is not valid for its type gets the error itself, and its endpoint is still good,
 * both within a process and between two. Valid values are sent as usual.
 */
#include <string.h>

#include "child.h"
#include "sound_shm.h"

#define NOT_UTF8 "caf\xe9"

static const hue_t no_hues[] = {(hue_t)0, (hue_t)4};

static sound_client_all_t client;
static size_t sent;

/* Refused twice, with the same endpoint, and then sent with another value. */
#define TRY(call_with, wrong, right)                                                               \
    do {                                                                                           \
        sound_client_all_t next = client;                                                          \
        CHECK(call_with(client, wrong, &next) == DUO_INVALID);                                     \
        CHECK(call_with(client, wrong, &next) == DUO_INVALID);                                     \
        CHECK(next.sends.turn == client.sends.turn);                                               \
        CHECK(call_with(client, right, &client) == DUO_OK);                                        \
        CHECK(call_with(next, wrong, &next) == DUO_USED);                                          \
        sent += 1;                                                                                 \
    } while (false)

static void send_hues(hue_t wrong)
{
    const hue_t fine = HUE_GREEN;
    const dot_t no_dot = {.at = 1, .hue = wrong}, dot = {.at = 1, .hue = fine};
    shade_t no_shade = {.tag = SHADE_MIXED, .as = {.mixed = {fine, wrong}}}, shade = no_shade;
    shade.as.mixed.right = fine;
    const shade_t no_tag = {.tag = (shade_tag_t)wrong}, none = {.tag = SHADE_NONE};
    TRY(sound_client_all_send_hue, wrong, fine);
    TRY(sound_client_all_send_dot, no_dot, dot);
    TRY(sound_client_all_send_shade, no_shade, shade);
    TRY(sound_client_all_send_shade, no_tag, none);
    const duo_opt_hue_t no_option = {true, wrong}, unlooked_at = {false, wrong}, option = {true, fine};
    TRY(sound_client_all_send_option, no_option, option);
    TRY(sound_client_all_send_option, no_option, unlooked_at);
    const duo_tuple2_u8_hue_t no_tuple = {7, wrong}, tuple = {7, fine};
    TRY(sound_client_all_send_tuple, no_tuple, tuple);
    const duo_tuple2_shade_shade_t no_many = {shade, no_shade}, many = {shade, none};
    TRY(sound_client_all_send_many, no_many, many);
    const hue_t some[] = {fine, fine, wrong};
    const duo_list_hue_t no_hues_ = {some, 3}, hues = {some, 2};
    TRY(sound_client_all_send_hues, no_hues_, hues);
    const dot_t dots[] = {dot, no_dot};
    const duo_list_dot_t no_dots = {dots, 2}, one = {dots, 1};
    TRY(sound_client_all_send_dots, no_dots, one);
}

static void send_texts(void)
{
    TRY(sound_client_all_send_text, DUO_STR(NOT_UTF8), DUO_STR("caf\xc3\xa9"));
    const duo_opt_str_t texts[] = {{true, DUO_STR("x")}, {false, DUO_STR(NOT_UTF8)}, {true, DUO_STR(NOT_UTF8)}};
    const duo_list_opt_str_t no_list = {texts, 3}, list = {texts, 2};
    TRY(sound_client_all_send_texts, no_list, list);
    const named_t no_name = {.tag = NAMED_KNOWN, .as = {.known = {DUO_STR(NOT_UTF8), HUE_RED}}};
    const named_t no_hue = {.tag = NAMED_KNOWN, .as = {.known = {DUO_STR("x"), (hue_t)0}}};
    const named_t name = {.tag = NAMED_KNOWN, .as = {.known = {DUO_STR("x"), HUE_RED}}};
    const named_t zeroed = {.tag = (named_tag_t)0}, nothing = {.tag = NAMED_NOTHING};
    TRY(sound_client_all_send_named, no_name, name);
    TRY(sound_client_all_send_named, no_hue, nothing);
    TRY(sound_client_all_send_named, zeroed, nothing);
    /* Any bytes are valid. */
    const duo_bytes bytes = {(const uint8_t *)NOT_UTF8, 4};
    CHECK(sound_client_all_send_bytes(client, bytes, &client) == DUO_OK);
    sent += 1;
}

/* Receives what arrives, up to the turn, and answers. */
static sound_server_all_t hear(sound_server_all_t server, size_t expected)
{
    for (size_t heard = 0;; heard++) {
        sound_all_t message;
        CHECK(sound_server_all_recv(server, &message) == DUO_OK);
        switch (message.tag) {
#define GO_ON(TAG, member)                                                                         \
    case TAG: server = message.as.member.next; break
            GO_ON(SOUND_ALL_HUE, hue);
            GO_ON(SOUND_ALL_DOT, dot);
            GO_ON(SOUND_ALL_SHADE, shade);
            GO_ON(SOUND_ALL_OPTION, option);
            GO_ON(SOUND_ALL_TUPLE, tuple);
            GO_ON(SOUND_ALL_MANY, many);
            GO_ON(SOUND_ALL_HUES, hues);
            GO_ON(SOUND_ALL_DOTS, dots);
            GO_ON(SOUND_ALL_TEXT, text);
            GO_ON(SOUND_ALL_TEXTS, texts);
            GO_ON(SOUND_ALL_NAMED, named);
            GO_ON(SOUND_ALL_BYTES, bytes);
        case SOUND_ALL_TURN: {
            CHECK(message.as.turn.hue == HUE_BLUE && heard == expected);
            sound_server_back_t back = message.as.turn.next;
            const dot_t zeroed = {0}, dot = {.hue = HUE_RED};
            CHECK(sound_server_back_send_turned(back, zeroed, &server) == DUO_INVALID);
            CHECK(sound_server_back_send_turned(back, dot, &server) == DUO_OK);
            return server;
        }
        case SOUND_ALL_OVER: CHECK(false);
        }
        sound_all_free(&message);
    }
}

static void send_all(void)
{
    for (int i = 0; i < 2; i++) send_hues(no_hues[i]);
    send_texts();
}

static sound_client_back_t turn(void)
{
    sound_client_back_t waiting;
    for (int i = 0; i < 2; i++)
        CHECK(sound_client_all_send_turn(client, no_hues[i], &waiting) == DUO_INVALID);
    CHECK(sound_client_all_send_turn(client, HUE_BLUE, &waiting) == DUO_OK);
    return waiting;
}

static void end(sound_client_back_t waiting)
{
    sound_back_t answer;
    CHECK(sound_client_back_recv(waiting, &answer) == DUO_OK);
    CHECK(answer.as.turned.dot.hue == HUE_RED);
    client = answer.as.turned.next;
    CHECK(sound_client_all_send_over(client) == DUO_OK);
}

static void in_one_process(void)
{
    sound_server_all_t server;
    CHECK(sound_init(&server, &client) == DUO_OK);
    send_all();
    sound_client_back_t waiting = turn();
    server = hear(server, sent);
    end(waiting);
    sound_all_t message;
    CHECK(sound_server_all_recv(server, &message) == DUO_OK && message.tag == SOUND_ALL_OVER);
}

static void serve(int region)
{
    sound_server_all_t server;
    CHECK(sound_server_attach(region, NULL, &server) == DUO_OK);
    server = hear(server, sent);
    sound_all_t message;
    CHECK(sound_server_all_recv(server, &message) == DUO_OK && message.tag == SOUND_ALL_OVER);
}

static void between_processes(void)
{
    int region = region_of(0);
    pid_t child = start_child(serve, region);
    size_t expected = sent;
    sent = 0;
    CHECK(sound_client_attach(region, NULL, &client) == DUO_OK);
    send_all();
    CHECK(sent == expected);
    end(turn());
    finish_child(child);
    close(region);
}

TEST(sound)
{
    in_one_process();
    between_processes();
}
