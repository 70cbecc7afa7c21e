/* The turns of a robot. */
#include "robots.h"

#include <stdlib.h>
#include <time.h>

/* How often a robot is slow in one turn, at most. One more such choice takes the way out. */
#define MOST_PAUSES 4

/* No message was chosen. */
#define NONE SIZE_MAX

const char *duo_ending_text(duo_ending ending)
{
    switch (ending) {
    case DUO_ENDING_FINISHED: return "the session has reached its end";
    case DUO_ENDING_LEFT: return "the robot disconnected";
    case DUO_ENDING_CLOSED: return "the peer disconnected before the end";
    case DUO_ENDING_LATE: return "the peer did nothing within the time limit";
    case DUO_ENDING_STUCK: return "the robot can make no message of the state";
    case DUO_ENDING_FAILED: return "the session failed";
    }
    return "not an ending";
}

bool duo_ending_is_fault(duo_ending ending)
{
    return ending == DUO_ENDING_CLOSED || ending == DUO_ENDING_LATE || ending == DUO_ENDING_FAILED;
}

void duo_play_init(duo_play *play, duo_choices *choices)
{
    memset(play, 0, sizeof *play);
    play->choices = choices;
    play->limit = 100;
    play->pause = 1000000;
    play->leaves = true;
}

void duo_play_free(duo_play *play)
{
    duo_play_state *state = play->state;
    if (state != NULL) {
        duo_values_release(state);
        duo_coverage_free(state->own);
        free(state->transcript.data);
        free(state->failure.data);
        free(state->queue);
        free(state->first);
        free(state->message);
        free(state);
    }
    memset(play, 0, sizeof *play);
}

/* Memory for what a session in this protocol needs. */
static bool prepare(duo_play *play, const duo_robot_table *table)
{
    if (play->state == NULL) play->state = calloc(1, sizeof *play->state);
    duo_play_state *state = play->state;
    if (state == NULL) return false;
    if (state->own != NULL && duo_coverage_table(state->own) != table) {
        duo_coverage_free(state->own);
        state->own = NULL;
    }
    if (play->coverage == NULL && state->own == NULL) state->own = duo_coverage_new(table);
    if (play->coverage == NULL && state->own == NULL) return false;
    if (state->space < table->node_count) {
        size_t *queue = realloc(state->queue, table->node_count * sizeof *queue);
        if (queue != NULL) state->queue = queue;
        size_t *first = realloc(state->first, table->node_count * sizeof *first);
        if (first != NULL) state->first = first;
        if (queue == NULL || first == NULL) return false;
        state->space = table->node_count;
    }
    size_t size = 0;
    for (size_t node = 0; node < table->node_count; node += 1) {
        if (table->nodes[node].size > size) size = table->nodes[node].size;
    }
    if (state->message_size < size) {
        free(state->message);
        state->message = malloc(size);
        state->message_size = state->message == NULL ? 0 : size;
        if (state->message == NULL) return false;
    }
    state->transcript.size = 0;
    state->transcript.is_cut = false;
    state->failure.size = 0;
    state->failure.is_cut = false;
    duo_robot_text_put(&state->transcript, "");
    return true;
}

static void show(duo_play *play)
{
    duo_play_state *state = play->state;
    play->transcript = state->transcript.size == 0 ? "" : state->transcript.data;
    play->transcript_size = state->transcript.size;
    play->failure = state->failure.size == 0 ? NULL : state->failure.data;
}

/* Begins a session. False if it cannot: memory ran out, or the coverage of the play is that of another protocol. */
static bool begin(duo_robot *robot, const duo_robot_table *table, duo_play *play, duo_role side, const void *hooks,
                  const duo_robot_hooks *calls)
{
    memset(robot, 0, sizeof *robot);
    robot->table = table;
    robot->play = play;
    robot->hooks = hooks;
    robot->calls = calls;
    robot->side = side;
    robot->ending = DUO_ENDING_FINISHED;
    const bool is_of_another = play->coverage != NULL && duo_coverage_table(play->coverage) != table;
    if (is_of_another || !prepare(play, table)) {
        play->transcript = "";
        play->transcript_size = 0;
        play->failure = is_of_another ? "the coverage is that of another protocol" : "out of memory";
        return false;
    }
    robot->coverage = play->coverage == NULL ? play->state->own : play->coverage;
    duo_coverage_begin(robot->coverage, side);
    return true;
}

static const char *name_of(duo_role side)
{
    return side == DUO_CLIENT ? "client" : "server";
}

static duo_role peer(duo_role side)
{
    return side == DUO_CLIENT ? DUO_SERVER : DUO_CLIENT;
}

static void put_closed(duo_robot *robot, duo_role receiver)
{
    duo_robot_text *text = &robot->play->state->transcript;
    duo_robot_text_put(text, name_of(receiver));
    duo_robot_text_put(text, " <- closed\n");
}

static void put_message(duo_robot *robot, duo_role receiver, const duo_robot_edge *edge, const void *entries)
{
    duo_robot_text *text = &robot->play->state->transcript;
    duo_robot_text_put(text, name_of(receiver));
    duo_robot_text_put(text, " <- ");
    duo_robot_text_put(text, edge->name);
    for (size_t entry = 0; entry < edge->count; entry += 1) {
        duo_robot_text_put(text, entry == 0 ? "(" : ", ");
        duo_robot_text_value(text, robot, edge->parts[entry].type, (const char *)entries + edge->parts[entry].offset);
    }
    duo_robot_text_put(text, edge->count == 0 ? "\n" : ")\n");
}

/* The edge of this node that leads to the nearest one at the end, or else to one that is worth taking; NONE if there is none. */
static size_t find(const duo_robot *robot, size_t from, bool is_out)
{
    const duo_robot_table *table = robot->table;
    size_t *queue = robot->play->state->queue, *first = robot->play->state->first;
    size_t taken = 0, added = 1;
    memset(first, 0, table->node_count * sizeof *first);
    queue[0] = from;
    first[from] = 1;
    while (taken < added) {
        size_t node = queue[taken++];
        const duo_robot_node *at = &table->nodes[node];
        for (size_t own = 0; own < at->count; own += 1) {
            const duo_robot_edge *edge = &at->edges[own];
            if (!edge->is_makeable) continue;
            size_t way = node == from ? own + 1 : first[node];
            if (is_out ? edge->next < 0 : duo_coverage_is_goal(robot->coverage, at, at->first + own)) return way - 1;
            if (edge->next < 0 || first[edge->next] != 0) continue;
            first[edge->next] = way;
            queue[added++] = (size_t)edge->next;
        }
    }
    return NONE;
}

/* The makeable edge of a node with this number. */
static size_t makeable(const duo_robot_node *at, size_t number)
{
    for (size_t own = 0; own < at->count; own += 1) {
        if (at->edges[own].is_makeable && number-- == 0) return own;
    }
    return NONE;
}

static void be_slow(uint64_t nanoseconds)
{
    struct timespec pause = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    if (nanoseconds > 0) nanosleep(&pause, NULL);
}

/* The edge that the choices say; NONE to disconnect. `count` edges are makeable. */
static size_t choose(duo_robot *robot, size_t node, size_t count)
{
    duo_play *play = robot->play;
    const duo_robot_node *at = &robot->table->nodes[node];
    for (unsigned pauses = 0; pauses <= MOST_PAUSES; pauses += 1) {
        uint8_t byte;
        if (robot->messages >= play->limit || !duo_choices_next(play->choices, &byte) || byte == 0) break;
        if (byte < 96) {
            size_t found = find(robot, node, false);
            if (found != NONE) return found;
            if (byte == 1) break;
            return makeable(at, byte % count);
        }
        if (byte < 248) {
            size_t number = byte - 96u;
            uint8_t more = 0;
            if (count > 152 && !duo_choices_next(play->choices, &more)) more = 0;
            return makeable(at, (number + 152 * (size_t)more) % count);
        }
        if (byte >= 252) return play->leaves ? NONE : makeable(at, byte % count);
        if (pauses < MOST_PAUSES) be_slow((byte - 247u) * play->pause);
    }
    return find(robot, node, true);
}

static void leave(duo_robot *robot, duo_ending ending)
{
    put_closed(robot, peer(robot->side));
    robot->ending = ending;
}

/* Writes the tag of a message. */
static void put_tag(void *message, size_t size, unsigned tag)
{
    unsigned word = duo_tag_word(tag, size);
    memcpy(message, &word, size);
}

/* Chooses a message of this node and makes it in `message`, which is zeroed. Returns its tag, or 0 if the robot disconnects. */
static unsigned make_message(duo_robot *robot, size_t node, void *message)
{
    const duo_robot_node *at = &robot->table->nodes[node];
    const duo_state *state = at->state;
    size_t count = 0;
    for (size_t own = 0; own < at->count; own += 1) count += at->edges[own].is_makeable;
    if (count == 0) {
        leave(robot, DUO_ENDING_STUCK);
        return 0;
    }
    /* The way out may be long, or the peer may not take it. */
    const bool is_endless = robot->messages / 2 >= robot->play->limit;
    size_t chosen = is_endless ? NONE : choose(robot, node, count);
    if (chosen == NONE) {
        leave(robot, DUO_ENDING_LEFT);
        return 0;
    }
    const duo_robot_edge *edge = &at->edges[chosen];
    duo_values values = {robot->play->choices, robot, robot->play->state, 0, 0, 0, false, false, false};
    char *entries = (char *)message + state->entries;
    unsigned tag = (unsigned)chosen + 1;
    put_tag(message, state->tag_size, tag);
    for (size_t entry = 0; entry < edge->count && !values.is_failed; entry += 1) {
        duo_values_make(&values, edge->parts[entry].type, entries + edge->parts[entry].offset);
    }
    if (values.is_failed) {
        duo_free(state, message);
        robot->ending = DUO_ENDING_FAILED;
        return 0;
    }
    put_message(robot, peer(robot->side), edge, entries);
    duo_coverage_add(robot->coverage, at->first + chosen, true);
    robot->messages += 1;
    return tag;
}

static void fail(duo_robot *robot, const char *why)
{
    robot->ending = DUO_ENDING_FAILED;
    robot->play->state->failure.size = 0;
    duo_robot_text_put(&robot->play->state->failure, why);
}

/* An operation on the endpoint has failed: the session is over. */
static void failed(duo_robot *robot, duo_status status)
{
    switch (status) {
    case DUO_CLOSED:
    case DUO_LOST:
        put_closed(robot, robot->side);
        robot->ending = DUO_ENDING_CLOSED;
        break;
    case DUO_EMPTY:
    case DUO_FULL:
    case DUO_LATE:
        put_closed(robot, robot->side);
        robot->ending = DUO_ENDING_LATE;
        break;
    default: fail(robot, duo_status_text(status));
    }
}

/* How long a robot waits, in nanoseconds. */
static uint64_t within(const duo_robot *robot)
{
    return robot->play->within == 0 ? DUO_FOREVER : robot->play->within;
}

/* Sends a message. False if the session is over, and then `endpoint` is closed. */
static bool send_message(duo_robot *robot, size_t node, duo_endpoint *endpoint, int *next)
{
    const duo_robot_node *at = &robot->table->nodes[node];
    void *message = robot->play->state->message;
    unsigned tag = make_message(robot, node, message);
    if (tag != 0) {
        const duo_robot_edge *edge = &at->edges[tag - 1];
        const void *entries = edge->count == 0 ? NULL : (const char *)message + at->state->entries;
        duo_endpoint after = {NULL, 0};
        duo_status status =
            robot->table->calls.send(*endpoint, &at->state->messages[tag - 1], entries, within(robot), &after);
        if (status == DUO_OK) {
            duo_values_release(robot->play->state);
            *endpoint = after;
            *next = edge->next;
            return true;
        }
        duo_free(at->state, message);
        failed(robot, status);
    }
    (void)robot->table->calls.close(*endpoint, at->state);
    return false;
}

/* Receives a message. False if the session is over, and then its endpoint is closed. */
static bool receive_message(duo_robot *robot, size_t node, duo_endpoint *endpoint, int *next)
{
    const duo_robot_node *at = &robot->table->nodes[node];
    char *message = robot->play->state->message;
    duo_status status = robot->table->calls.recv(*endpoint, at->state, within(robot), message);
    if (status != DUO_OK) {
        (void)robot->table->calls.close(*endpoint, at->state);
        failed(robot, status);
        return false;
    }
    size_t own = (size_t)duo_robot_number(message, at->state->tag_size, false) - 1;
    const duo_message *arrived = &at->state->messages[own];
    const duo_robot_edge *edge = &at->edges[own];
    duo_coverage_add(robot->coverage, at->first + own, false);
    robot->messages += 1;
    put_message(robot, robot->side, edge, message + at->state->entries);
    const char *fault = robot->hooks == NULL ? NULL : robot->calls->look(robot->hooks, node, message);
    if (arrived->next != NULL) memcpy(endpoint, message + at->state->entries + arrived->size, sizeof *endpoint);
    if (fault != NULL) {
        fail(robot, fault);
        if (arrived->next != NULL) (void)robot->table->calls.close(*endpoint, arrived->next);
    }
    duo_free(at->state, message);
    *next = edge->next;
    return fault == NULL;
}

duo_ending duo_robot_play(const duo_robot_table *table, duo_play *play, duo_role side, duo_endpoint start,
                          const void *hooks, const duo_robot_hooks *calls)
{
    duo_robot robot;
    if (!begin(&robot, table, play, side, hooks, calls)) {
        (void)table->calls.close(start, table->nodes[0].state);
        return DUO_ENDING_FAILED;
    }
    bool is_open = true;
    for (int node = 0; is_open && node >= 0;) {
        const duo_robot_node *at = &table->nodes[node];
        memset(play->state->message, 0, at->size);
        bool is_sender = at->sender == side;
        is_open = (is_sender ? send_message : receive_message)(&robot, (size_t)node, &start, &node);
    }
    duo_values_release(play->state);
    if (play->state->transcript.is_cut) fail(&robot, "out of memory");
    show(play);
    return robot.ending;
}
