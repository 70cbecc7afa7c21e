/* The thin typed layer for golden.h, in the shape of generated code. */
#include "golden.h"

#include "duologue/generated.h"

extern const duo_state bank_states[];
extern const duo_state numbers_states[];
extern const duo_state courier_states[];
extern const duo_state ping_states[];

static const duo_field bank_login_login_fields[] = {
    {&duo_text_type, DUO_ENTRY(bank_login_t, login, username), 0},
    {&duo_text_type, DUO_ENTRY(bank_login_t, login, password), 0},
};
static const duo_type bank_login_login_type = DUO_TYPE_OF(DUO_STRUCT, true, false, true, bank_login_login_fields);

static const duo_message bank_messages[] = {
    {&bank_login_login_type, DUO_BEFORE_NEXT(bank_login_t, login), &bank_states[1], DUO_TURN, 0},
    {NULL, 0, &bank_states[2], DUO_TURN, 0},
    {NULL, 0, &bank_states[0], DUO_TURN, 1},
    {NULL, DUO_BEFORE_NEXT(bank_connected_t, deposit), &bank_states[2], DUO_STAY, 0},
    {NULL, 0, NULL, DUO_END, 1},
};
const duo_state bank_states[] = {
    {&bank_messages[0], offsetof(bank_login_t, as), DUO_CLIENT, false, DUO_TAG_SIZE(bank_login_t)},
    {&bank_messages[1], offsetof(bank_login_response_t, as), DUO_SERVER, false, DUO_TAG_SIZE(bank_login_response_t)},
    {&bank_messages[3], offsetof(bank_connected_t, as), DUO_CLIENT, true, DUO_TAG_SIZE(bank_connected_t)},
};
static const duo_protocol bank_protocol = {64, true, sizeof(void *), 2, bank_states, 0, NULL};

duo_status bank_init(bank_server_login_t *server, bank_client_login_t *client)
{
    return duo_open(&bank_protocol, &server->receives, &client->sends);
}

duo_status bank_client_login_send_login(bank_client_login_t self, duo_str username,
                                        duo_str password, bank_client_login_response_t *next)
{
    bank_login_t message;
    message.as.login.username = username;
    message.as.login.password = password;
    return duo_send(self.sends, &bank_messages[0], &message.as, DUO_FOREVER, &next->receives);
}

duo_status bank_server_login_recv(bank_server_login_t self, bank_login_t *message)
{
    return duo_recv(self.receives, &bank_states[0], DUO_FOREVER, message);
}

duo_status bank_server_login_response_send_ok(bank_server_login_response_t self,
                                              bank_server_connected_t *next)
{
    return duo_send(self.sends, &bank_messages[1], NULL, DUO_FOREVER, &next->receives);
}

duo_status bank_server_login_response_send_invalid(bank_server_login_response_t self,
                                                   bank_server_login_t *next)
{
    return duo_send(self.sends, &bank_messages[2], NULL, DUO_FOREVER, &next->receives);
}

duo_status bank_client_login_response_recv(bank_client_login_response_t self,
                                           bank_login_response_t *message)
{
    return duo_recv(self.receives, &bank_states[1], DUO_FOREVER, message);
}

duo_status bank_client_connected_send_deposit(bank_client_connected_t self, double money,
                                              bank_client_connected_t *next)
{
    bank_connected_t message;
    message.as.deposit.money = money;
    return duo_send(self.sends, &bank_messages[3], &message.as, DUO_FOREVER, &next->sends);
}

duo_status bank_client_connected_send_quit(bank_client_connected_t self)
{
    return duo_send(self.sends, &bank_messages[4], NULL, DUO_FOREVER, NULL);
}

duo_status bank_server_connected_recv(bank_server_connected_t self, bank_connected_t *message)
{
    return duo_recv(self.receives, &bank_states[2], DUO_FOREVER, message);
}

duo_status bank_client_login_close(bank_client_login_t self)
{
    return duo_close(self.sends, &bank_states[0]);
}

duo_status bank_server_login_close(bank_server_login_t self)
{
    return duo_close(self.receives, &bank_states[0]);
}

duo_status bank_client_login_response_close(bank_client_login_response_t self)
{
    return duo_close(self.receives, &bank_states[1]);
}

duo_status bank_server_login_response_close(bank_server_login_response_t self)
{
    return duo_close(self.sends, &bank_states[1]);
}

duo_status bank_client_connected_close(bank_client_connected_t self)
{
    return duo_close(self.sends, &bank_states[2]);
}

duo_status bank_server_connected_close(bank_server_connected_t self)
{
    return duo_close(self.receives, &bank_states[2]);
}

void bank_login_free(bank_login_t *message)
{
    duo_free(&bank_states[0], message);
}

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

duo_status numbers_client_stream_close(numbers_client_stream_t self)
{
    return duo_close(self.sends, &numbers_states[0]);
}

duo_status numbers_server_stream_close(numbers_server_stream_t self)
{
    return duo_close(self.receives, &numbers_states[0]);
}

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

duo_status courier_server_carry_recv(courier_server_carry_t self, courier_carry_t *message)
{
    return duo_recv(self.receives, &courier_states[0], DUO_FOREVER, message);
}

duo_status courier_client_carry_close(courier_client_carry_t self)
{
    return duo_close(self.sends, &courier_states[0]);
}

duo_status courier_server_carry_close(courier_server_carry_t self)
{
    return duo_close(self.receives, &courier_states[0]);
}

void courier_carry_free(courier_carry_t *message)
{
    duo_free(&courier_states[0], message);
}

static const duo_message ping_messages[] = {
    {NULL, DUO_BEFORE_NEXT(ping_ping_t, ping), &ping_states[1], DUO_TURN, 0},
    {NULL, DUO_BEFORE_NEXT(ping_pong_t, pong), &ping_states[0], DUO_TURN, 0},
    {NULL, 0, NULL, DUO_END, 1},
};
const duo_state ping_states[] = {
    {&ping_messages[0], offsetof(ping_ping_t, as), DUO_CLIENT, false, DUO_TAG_SIZE(ping_ping_t)},
    {&ping_messages[1], offsetof(ping_pong_t, as), DUO_SERVER, false, DUO_TAG_SIZE(ping_pong_t)},
};
DUO_SHAPE(ping, 1, false, sizeof(void *), 2);
static const duo_protocol ping_protocol = {1, false, sizeof(void *), 2, ping_states, 0, &ping_shape};

duo_status ping_init(ping_server_ping_t *server, ping_client_ping_t *client)
{
    return duo_open(&ping_protocol, &server->receives, &client->sends);
}

duo_status ping_client_ping_send_ping(ping_client_ping_t self, uint64_t value,
                                      ping_client_pong_t *next)
{
    duo_cursor cursor;
    if (duo_may_send(&cursor, self.sends, DUO_CLIENT, &ping_shape, DUO_TURN)) {
        memcpy(cursor.slot + DUO_ENTRY(ping_ping_t, ping, value), &value, sizeof value);
        return duo_publish(&cursor, self.sends, DUO_CLIENT, DUO_TURN, 0, true, false, &next->receives);
    }
    ping_ping_t message;
    message.as.ping.value = value;
    return duo_send_apart(self.sends, &ping_messages[0], &message.as, DUO_FOREVER, &next->receives);
}

duo_status ping_server_ping_recv(ping_server_ping_t self, ping_ping_t *message)
{
    duo_cursor cursor;
    if (duo_may_recv(&cursor, self.receives, DUO_SERVER, &ping_shape, DUO_TURN, DUO_FOREVER)) {
        message->tag = PING_PING_PING;
        message->block = NULL;
        memcpy(&message->as.ping.value, cursor.slot + DUO_ENTRY(ping_ping_t, ping, value),
               sizeof message->as.ping.value);
        message->as.ping.next.sends = duo_taken(&cursor, self.receives, DUO_TURN, false);
        return DUO_OK;
    }
    ping_ping_t arrived;
    duo_status status = duo_recv(self.receives, &ping_states[0], DUO_FOREVER, &arrived);
    message->tag = arrived.tag;
    message->block = arrived.block;
    if (status == DUO_OK) message->as = arrived.as;
    return status;
}

duo_status ping_server_pong_send_pong(ping_server_pong_t self, uint64_t value,
                                      ping_server_ping_t *next)
{
    duo_cursor cursor;
    if (duo_may_send(&cursor, self.sends, DUO_SERVER, &ping_shape, DUO_TURN)) {
        memcpy(cursor.slot + DUO_ENTRY(ping_pong_t, pong, value), &value, sizeof value);
        return duo_publish(&cursor, self.sends, DUO_SERVER, DUO_TURN, 0, true, false, &next->receives);
    }
    ping_pong_t message;
    message.as.pong.value = value;
    return duo_send_apart(self.sends, &ping_messages[1], &message.as, DUO_FOREVER, &next->receives);
}

duo_status ping_server_pong_send_enough(ping_server_pong_t self)
{
    return duo_send(self.sends, &ping_messages[2], NULL, DUO_FOREVER, NULL);
}

duo_status ping_client_pong_recv(ping_client_pong_t self, ping_pong_t *message)
{
    return duo_recv(self.receives, &ping_states[1], DUO_FOREVER, message);
}

duo_status ping_client_pong_try_recv(ping_client_pong_t self, ping_pong_t *message)
{
    return duo_recv(self.receives, &ping_states[1], DUO_AT_ONCE, message);
}

duo_status ping_client_pong_recv_within(ping_client_pong_t self, uint64_t nanoseconds,
                                        ping_pong_t *message)
{
    return duo_recv(self.receives, &ping_states[1], nanoseconds, message);
}

duo_status ping_client_ping_close(ping_client_ping_t self)
{
    return duo_close(self.sends, &ping_states[0]);
}

duo_status ping_server_ping_close(ping_server_ping_t self)
{
    return duo_close(self.receives, &ping_states[0]);
}

duo_status ping_client_pong_close(ping_client_pong_t self)
{
    return duo_close(self.receives, &ping_states[1]);
}

duo_status ping_server_pong_close(ping_server_pong_t self)
{
    return duo_close(self.sends, &ping_states[1]);
}
