/* What golden.h declares, in the shape of generated code. */
#include "golden.h"

#include "duologue/generated.h"

#define CLOSES(endpoint, member, state)                                                            \
    duo_status endpoint##_close(endpoint##_t self)                                                 \
    {                                                                                              \
        return duo_close(self.member, state);                                                      \
    }
#define RECEIVES(endpoint, how, message, state, wait)                                              \
    duo_status endpoint##_##how(endpoint##_t self, message##_t *got)                               \
    {                                                                                              \
        return duo_recv(self.receives, state, wait, got);                                          \
    }

extern const duo_state numbers_states[];
extern const duo_state courier_states[];

static const duo_message numbers_messages[] = {
    {NULL, DUO_BEFORE_NEXT(numbers_stream_t, send), &numbers_states[0], DUO_STAY, 0},
};
const duo_state numbers_states[] = {
    {&numbers_messages[0], offsetof(numbers_stream_t, as), DUO_CLIENT, true, DUO_TAG_SIZE(numbers_stream_t)},
};

duo_status numbers_init_with(size_t capacity, numbers_server_stream_t *server,
                             numbers_client_stream_t *client)
{
    duo_protocol protocol = {capacity == 0 ? 64 : capacity, true, sizeof(void *), 1, numbers_states,
                             capacity == 0 ? DUO_RING : 0, NULL};
    return duo_open(&protocol, &server->receives, &client->sends);
}

duo_status numbers_init(numbers_server_stream_t *server, numbers_client_stream_t *client)
{
    return numbers_init_with(0, server, client);
}

static duo_status numbers_send(numbers_client_stream_t self, uint64_t value, uint64_t wait,
                               numbers_client_stream_t *next)
{
    duo_cursor cursor;
    /* The ring is as large as the test requires. */
    if (duo_may_send(&cursor, self.sends, DUO_CLIENT, NULL, DUO_STAY)) {
        memcpy(cursor.slot + DUO_ENTRY(numbers_stream_t, send, value), &value, sizeof value);
        return duo_publish(&cursor, self.sends, DUO_CLIENT, DUO_STAY, 0, false, true, &next->sends);
    }
    numbers_stream_t message;
    message.as.send.value = value;
    return duo_send_apart(self.sends, &numbers_messages[0], &message.as, wait, &next->sends);
}

duo_status numbers_client_stream_send_send(numbers_client_stream_t self, uint64_t value,
                                           numbers_client_stream_t *next)
{
    return numbers_send(self, value, DUO_FOREVER, next);
}

duo_status numbers_client_stream_try_send_send(numbers_client_stream_t self, uint64_t value,
                                               numbers_client_stream_t *next)
{
    return numbers_send(self, value, DUO_AT_ONCE, next);
}

static duo_status numbers_recv(numbers_server_stream_t self, uint64_t wait, numbers_stream_t *message)
{
    duo_cursor cursor;
    if (duo_may_recv(&cursor, self.receives, DUO_SERVER, NULL, DUO_STAY, wait)) {
        message->tag = NUMBERS_STREAM_SEND;
        message->block = NULL;
        memcpy(&message->as.send.value, cursor.slot + DUO_ENTRY(numbers_stream_t, send, value),
               sizeof message->as.send.value);
        message->as.send.next.receives = duo_taken(&cursor, self.receives, DUO_STAY, true);
        return DUO_OK;
    }
    return duo_recv(self.receives, &numbers_states[0], wait, message);
}

duo_status numbers_server_stream_recv(numbers_server_stream_t self, numbers_stream_t *message)
{
    return numbers_recv(self, DUO_FOREVER, message);
}

duo_status numbers_server_stream_try_recv(numbers_server_stream_t self, numbers_stream_t *message)
{
    return numbers_recv(self, DUO_AT_ONCE, message);
}

duo_status numbers_server_stream_recv_within(numbers_server_stream_t self, uint64_t nanoseconds,
                                             numbers_stream_t *message)
{
    return numbers_recv(self, nanoseconds, message);
}

duo_status numbers_client_stream_share(numbers_client_stream_t self,
                                       numbers_client_stream_shared_t *shared)
{
    return duo_share(self.sends, &numbers_states[0], &shared->shared);
}

static duo_status numbers_shared_send(numbers_client_stream_shared_t self, uint64_t value,
                                      uint64_t wait)
{
    numbers_stream_t message;
    message.as.send.value = value;
    return duo_shared_send(self.shared, &numbers_messages[0], &message.as, wait);
}

duo_status numbers_client_stream_shared_send_send(numbers_client_stream_shared_t self, uint64_t value)
{
    return numbers_shared_send(self, value, DUO_FOREVER);
}

duo_status numbers_client_stream_shared_try_send_send(numbers_client_stream_shared_t self,
                                                      uint64_t value)
{
    return numbers_shared_send(self, value, DUO_AT_ONCE);
}

CLOSES(numbers_client_stream, sends, &numbers_states[0])
CLOSES(numbers_server_stream, receives, &numbers_states[0])

numbers_server_stream_t numbers_server_stream_take(numbers_server_stream_t *place)
{
    numbers_server_stream_t taken = *place;
    *place = (numbers_server_stream_t){{0}};
    return taken;
}

static const duo_type numbers_server_stream_type = DUO_ENDPOINT_TYPE(&numbers_states[0]);
static const duo_type courier_server_carry_type = DUO_ENDPOINT_TYPE(&courier_states[0]);

static const duo_field courier_carry_parcel_fields[] = {
    {&duo_text_type, DUO_ENTRY(courier_carry_t, parcel, note), 0},
    {&numbers_server_stream_type, DUO_ENTRY(courier_carry_t, parcel, inner), 0},
};
static const duo_type courier_carry_parcel_type =
    DUO_TYPE_OF(DUO_STRUCT, true, true, true, courier_carry_parcel_fields);
static const duo_field courier_carry_again_fields[] = {
    {&courier_server_carry_type, DUO_ENTRY(courier_carry_t, again, inner), 0},
};
static const duo_type courier_carry_again_type =
    DUO_TYPE_OF(DUO_STRUCT, false, true, false, courier_carry_again_fields);
static const duo_field courier_carry_pair_fields[] = {
    {&numbers_server_stream_type, DUO_ENTRY(courier_carry_t, pair, left), 0},
    {&numbers_server_stream_type, DUO_ENTRY(courier_carry_t, pair, right), 0},
};
static const duo_type courier_carry_pair_type =
    DUO_TYPE_OF(DUO_STRUCT, false, true, false, courier_carry_pair_fields);

static const duo_message courier_messages[] = {
    {&courier_carry_parcel_type, DUO_ENTRY(courier_carry_t, parcel, next), &courier_states[0], DUO_STAY, 0},
    {&courier_carry_again_type, sizeof(courier_server_carry_t), NULL, DUO_END, 1},
    {&courier_carry_pair_type, DUO_ENTRY(courier_carry_t, pair, next), &courier_states[0], DUO_STAY, 2},
    {NULL, 0, NULL, DUO_END, 3},
};
const duo_state courier_states[] = {
    {&courier_messages[0], offsetof(courier_carry_t, as), DUO_CLIENT, true, DUO_TAG_SIZE(courier_carry_t)},
};

duo_status courier_init_with(size_t capacity, courier_server_carry_t *server,
                             courier_client_carry_t *client)
{
    duo_protocol protocol = {capacity == 0 ? 64 : capacity, true, 2 * sizeof(duo_endpoint), 4,
                             courier_states, 0, NULL};
    return duo_open(&protocol, &server->receives, &client->sends);
}

duo_status courier_init(courier_server_carry_t *server, courier_client_carry_t *client)
{
    return courier_init_with(0, server, client);
}

duo_status courier_client_carry_send_parcel(courier_client_carry_t self, duo_str note,
                                            numbers_server_stream_t inner,
                                            courier_client_carry_t *next)
{
    courier_carry_t message;
    message.as.parcel.note = note;
    message.as.parcel.inner = inner;
    return duo_send(self.sends, &courier_messages[0], &message.as, DUO_FOREVER, &next->sends);
}

duo_status courier_client_carry_send_again(courier_client_carry_t self,
                                           courier_server_carry_t inner)
{
    courier_carry_t message;
    message.as.again.inner = inner;
    return duo_send(self.sends, &courier_messages[1], &message.as, DUO_FOREVER, NULL);
}

duo_status courier_client_carry_send_pair(courier_client_carry_t self,
                                          numbers_client_stream_t left,
                                          numbers_client_stream_t right,
                                          courier_client_carry_t *next)
{
    courier_carry_t message;
    message.as.pair.left = left;
    message.as.pair.right = right;
    return duo_send(self.sends, &courier_messages[2], &message.as, DUO_FOREVER, &next->sends);
}

duo_status courier_client_carry_send_done(courier_client_carry_t self)
{
    return duo_send(self.sends, &courier_messages[3], NULL, DUO_FOREVER, NULL);
}

RECEIVES(courier_server_carry, recv, courier_carry, &courier_states[0], DUO_FOREVER)
CLOSES(courier_client_carry, sends, &courier_states[0])
CLOSES(courier_server_carry, receives, &courier_states[0])

void courier_carry_free(courier_carry_t *message)
{
    duo_free(&courier_states[0], message);
}
