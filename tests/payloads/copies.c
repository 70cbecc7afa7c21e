/* Values that outlive their message, and values as expressions. */
#include <string.h>

#include "check.h"
#include "file_server.h"
#include "smtp.h"

static size_t blocks;

static void *allocate(size_t size)
{
    blocks += 1;
    return malloc(size);
}

static void release(void *block)
{
    if (block != NULL) blocks -= 1;
    free(block);
}

static bool is_refused;

static void *refuse(size_t size)
{
    return is_refused ? NULL : allocate(size);
}

/* A list of texts, after the message it came in is gone. */
static void copies(void)
{
    smtp_server_greeting_t server;
    smtp_client_greeting_t client;
    smtp_greeting_t greeting;
    CHECK(smtp_init(&server, &client) == DUO_OK);
    const duo_str lines[] = {DUO_STR("closed today"), DUO_STR(""), DUO_STR("try tomorrow")};
    const reply_t sent = {421, DUO_ITEMS(duo_list_str_t, lines)};
    CHECK(smtp_server_greeting_send_unavailable(server, sent) == DUO_OK);
    CHECK(smtp_client_greeting_recv(client, &greeting) == DUO_OK);
    CHECK(greeting.tag == SMTP_GREETING_UNAVAILABLE);

    reply_t kept;
    void *block;
    is_refused = true;
    CHECK(reply_copy(greeting.as.unavailable.reply, &kept, &block) == DUO_NO_MEMORY && block == NULL);
    is_refused = false;
    CHECK(reply_copy(greeting.as.unavailable.reply, &kept, &block) == DUO_OK && block != NULL);
    CHECK(kept.lines.data != greeting.as.unavailable.reply.lines.data);
    smtp_greeting_free(&greeting);
    CHECK(kept.code == 421 && kept.lines.size == 3);
    for (size_t i = 0; i < 3; i++) CHECK(duo_str_equal(kept.lines.data[i], lines[i]));

    /* A copy of a copy, and one of an empty list, which does not refer to anything else. */
    reply_t again;
    void *other;
    CHECK(reply_copy(kept, &again, &other) == DUO_OK);
    duo_release_copy(block);
    CHECK(duo_str_equal(again.lines.data[2], lines[2]));
    duo_release_copy(other);
    again.lines.size = 0;
    CHECK(reply_copy(again, &kept, &other) == DUO_OK && kept.lines.data != again.lines.data && kept.lines.size == 0);
    duo_release_copy(other);
    duo_release_copy(NULL);
}

/* A text and bytes without a declared type. */
static void plain_copies(void)
{
    char text[] = "the cat";
    uint8_t array[] = {1, 0, 255};
    duo_str kept;
    duo_bytes held;
    void *block, *other;
    is_refused = true;
    CHECK(duo_str_duplicate(duo_str_from(text), &kept, &block) == DUO_NO_MEMORY && block == NULL);
    CHECK(duo_bytes_duplicate((duo_bytes){array, 3}, &held, &other) == DUO_NO_MEMORY && other == NULL);
    is_refused = false;
    CHECK(duo_str_duplicate(duo_str_from(text), &kept, &block) == DUO_OK);
    CHECK(duo_bytes_duplicate((duo_bytes){array, 3}, &held, &other) == DUO_OK);
    memset(text, 0, sizeof text);
    memset(array, 0, sizeof array);
    CHECK(duo_str_equal(kept, DUO_STR("the cat")));
    CHECK(held.size == 3 && held.data[0] == 1 && held.data[1] == 0 && held.data[2] == 255);
    duo_release_copy(block);
    duo_release_copy(other);
    CHECK(duo_bytes_duplicate((duo_bytes){array, 0}, &held, &other) == DUO_OK && held.size == 0 && held.data != array);
    duo_release_copy(other);
}

static void constructors(void)
{
    const duo_opt_u32_t some = DUO_SOME(duo_opt_u32_t, 7), none = DUO_NONE(duo_opt_u32_t);
    CHECK(some.some && some.value == 7 && !none.some);
}

int main(void)
{
    duo_use_memory((duo_memory){refuse, aligned_alloc, release});
    constructors();
    const size_t before = blocks;
    copies();
    plain_copies();
    CHECK(blocks == before);
    return 0;
}
