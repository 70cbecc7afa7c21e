/*
 * The sessions of tests/wire/sessions.txt, with a connection and a clock that the test controls. The program and the connection are
 * this thread. The writer of the runtime is a thread that runs only while this one waits for it, and sleeps on the clock of the test:
 * linked with `--wrap`, in builds of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "net/net.h"
#include "counter_net.h"
#include "raw.h"

#define MILLISECOND UINT64_C(1000000)

/* Where C does something else, as docs/wire.md allows: a session, and the step with which that begins, up to which it is played. */
static const struct difference {
    const char *name;
    const char *step;
} differences[] = {
    /* The time of a state begins when the program has received the message before it, not when that arrives. */
    {"each_message_begins_the_time_again", "deadline 500"},
    /* A side says that it is there once it has written nothing for half of the time that it has promised. */
    {"heartbeats", "deadline 1000"},
    /* There is no ring between the program and the connection, so a sender waits while 64 KiB are not written. */
    {"what_is_not_accepted_is_kept", "send item 7 x 117000"},
    /* A message that the peer would not take is refused, and the program may send another. */
    {"a_message_that_is_too_large", "send note a*64"},
};

enum { DIFFERENCES = sizeof differences / sizeof *differences };

/* The clock, the thread of the test, and the writer: whether it sleeps, until when, and whether it has to wake. */
static uint64_t now = 1000 * DUO_SECOND;
static pthread_t program;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool sleeps, wakes;
static uint64_t sleeps_until;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_ppoll(struct pollfd *polled, nfds_t count, const struct timespec *time, const sigset_t *signals);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    CHECK(clock == CLOCK_MONOTONIC);
    *time = duo_timespec(now);
    return 0;
}

/* Only the writer waits. */
int __wrap_ppoll(struct pollfd *polled, nfds_t count, const struct timespec *time, const sigset_t *signals)
{
    (void)polled, (void)count, (void)signals;
    pthread_mutex_lock(&lock);
    sleeps = true;
    sleeps_until = time == NULL ? DUO_FOREVER : now + (uint64_t)time->tv_sec * DUO_SECOND + (uint64_t)time->tv_nsec;
    pthread_cond_broadcast(&changed);
    while (!wakes) pthread_cond_wait(&changed, &lock);
    sleeps = wakes = false;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void await_writer(void)
{
    pthread_mutex_lock(&lock);
    while (!sleeps || wakes) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* The writer wakes, does what is due, and sleeps again. */
static void let_write(void)
{
    pthread_mutex_lock(&lock);
    wakes = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    await_writer();
}

static void pass(uint64_t time)
{
    const uint64_t end = now + time;
    for (let_write(); sleeps_until <= end; let_write()) now = sleeps_until;
    now = end;
    let_write();
}

/* The session, and its connection. */
static struct play {
    duo_net *net;
    duo_endpoint endpoint;
    /* NULL once the program has no endpoint. */
    const duo_state *state;
    bool receives;
    /* Why the program has none; NULL while it has one. */
    const char *why;
    bool is_closed;
    /* What has arrived and was not read. */
    uint8_t arrived[1 << 18];
    size_t from, end;
    bool is_cut;
    /* How many bytes the connection accepts, whether it fails, and whether it has refused some and the writer does not know. */
    size_t accepts;
    bool fails, is_unpolled;
    uint8_t written[4096];
    size_t size;
} play;

static ptrdiff_t read_arrived(const duo_net_stream *stream, void *bytes, size_t size)
{
    (void)stream;
    size_t there = play.end - play.from;
    if (there == 0 && play.is_cut) return 0;
    errno = EAGAIN;
    if (there == 0) return -1;
    if (there > size) there = size;
    memcpy(bytes, play.arrived + play.from, there);
    play.from += there;
    return (ptrdiff_t)there;
}

static ptrdiff_t write_accepted(const duo_net_stream *stream, const void *bytes, size_t size)
{
    (void)stream;
    play.is_unpolled = play.accepts == 0 && pthread_equal(pthread_self(), program);
    errno = play.fails ? EPIPE : EAGAIN;
    if (play.fails || play.accepts == 0) return -1;
    if (size > play.accepts) size = play.accepts;
    if (play.accepts != SIZE_MAX) play.accepts -= size;
    CHECK(size <= sizeof play.written - play.size);
    memcpy(play.written + play.size, bytes, size);
    play.size += size;
    return (ptrdiff_t)size;
}

static void be_closed(const duo_net_stream *stream)
{
    (void)stream;
    play.is_closed = true;
}

/* The value of ` key=` in a line; 0 if it has none. */
static unsigned term(const char *line, const char *key)
{
    char wanted[16];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(line, wanted);
    return at == NULL ? 0 : (unsigned)strtoul(at + strlen(wanted), NULL, 10);
}

/* A session of this side, with the terms in the line. */
static void begin(bool is_server, const char *line)
{
    const unsigned largest = term(line, "largest");
    const duo_net_options options = {.heartbeat = (uint16_t)term(line, "ours"), .idle = term(line, "idle") * MILLISECOND};
    const duo_net_terms terms = {.largest = largest != 0 ? largest : 1 << 20, .heartbeat = (uint16_t)term(line, "theirs")};
    static duo_net_stream_kind kind;
    duo_net_stream stream = duo_net_plain(open("/dev/null", O_RDWR | O_CLOEXEC), false);
    CHECK(stream.descriptor >= 0);
    kind = *stream.kind;
    kind.read = read_arrived;
    kind.write = write_accepted;
    kind.free = be_closed;
    stream.kind = &kind;
    memset(&play, 0, sizeof play);
    play.accepts = SIZE_MAX;
    play.state = duo_wire_of_counter.states;
    play.receives = is_server;
    const duo_role role = is_server ? DUO_SERVER : DUO_CLIENT;
    play.net = duo_net_begin(&stream, is_server, &duo_wire_of_counter, role, &options, &terms, &play.endpoint);
    CHECK(play.net != NULL);
    /* Programs cannot ask for so little. */
    if (largest != 0) play.net->takes = largest;
    duo_net_start_clocks(play.net);
}

static const char *text_of(duo_status status)
{
    switch (status) {
    case DUO_CLOSED: return "left";
    case DUO_BROKEN: return "broken";
    case DUO_LATE: return "late";
    case DUO_TOO_LARGE: return "toolarge";
    default: CHECK(status == DUO_LOST); return "lost";
    }
}

static void end_with(duo_status status)
{
    play.why = text_of(status);
    play.state = NULL;
}

/* After this message. */
static void follow(const duo_message *message, duo_endpoint next)
{
    if (message->edge == DUO_END) {
        end_with(DUO_CLOSED);
        return;
    }
    if (message->edge == DUO_TURN) play.receives = !play.receives;
    play.state = message->next;
    play.endpoint = next;
}

static const char *name_of(const duo_message *message)
{
    return duo_wire_of_counter.message_names[message - duo_wire_of_counter.messages];
}

/* Sends, unless the session is over. False: the message was refused. */
static bool send_message(const char *text)
{
    char letters[128], letter;
    unsigned count;
    const size_t size = strcspn(text, " ");
    const char *value = text[size] == ' ' ? text + size + 1 : "";
    CHECK(play.state != NULL);
    const duo_message *message = play.state->messages;
    while (strncmp(name_of(message), text, size) != 0) message++;
    if (sscanf(value, "%c*%u", &letter, &count) == 2) {
        CHECK(count < sizeof letters);
        memset(letters, letter, count);
        letters[count] = '\0';
        value = letters;
    }
    const uint64_t number = strtoull(value, NULL, 10);
    const duo_str note = duo_str_from(value);
    const bool is_note = strncmp(text, "note", size) == 0;
    duo_endpoint next;
    duo_status status = duo_send(play.endpoint, message, is_note ? (const void *)&note : &number, DUO_AT_ONCE, &next);
    if (status == DUO_OK) follow(message, next);
    else if (duo_check_handle(play.endpoint) == NULL) end_with(status);
    else return false;
    return true;
}

/* What the program receives, as the transcripts spell it. */
static const char *receive(void)
{
    static char text[256];
    union {
        counter_count_t count;
        counter_answer_t answer;
    } got;
    duo_status status = DUO_USED;
    if (play.state != NULL) status = duo_recv(play.endpoint, play.state, DUO_AT_ONCE, &got);
    if (status == DUO_EMPTY) return "nothing";
    if (status != DUO_OK) {
        if (play.state != NULL) end_with(status);
        snprintf(text, sizeof text, "closed %s", play.why);
        return text;
    }
    const bool is_count = play.state == duo_wire_of_counter.states;
    const unsigned tag = is_count ? (unsigned)got.count.tag : (unsigned)got.answer.tag;
    const duo_message *message = &play.state->messages[tag - 1];
    int size = snprintf(text, sizeof text, "%s", name_of(message));
    char *rest = text + size;
    const size_t room = sizeof text - (size_t)size;
    const duo_str note = got.count.as.note.value;
    if (is_count && tag == COUNTER_COUNT_NOTE) snprintf(rest, room, " %.*s", (int)note.size, note.data);
    if (is_count && tag == COUNTER_COUNT_ITEM) snprintf(rest, room, " %ju", (uintmax_t)got.count.as.item.value);
    if (!is_count && tag == COUNTER_ANSWER_SUM) snprintf(rest, room, " %ju", (uintmax_t)got.answer.as.sum.value);
    duo_endpoint next = {NULL, 0};
    if (message->edge != DUO_END) memcpy(&next, (const char *)&got + play.state->entries + message->size, sizeof next);
    if (is_count) counter_count_free(&got.count);
    follow(message, next);
    return text;
}

/* Reads what has arrived, as a wait for the endpoint would. */
static duo_status look(void)
{
    pthread_mutex_lock(&play.net->lock);
    duo_status status = play.receives ? duo_net_check_receiver(play.net) : duo_net_check_sender(play.net);
    pthread_mutex_unlock(&play.net->lock);
    return status;
}

static void arrive(const uint8_t *bytes, size_t size)
{
    CHECK(size <= sizeof play.arrived - play.end);
    memcpy(play.arrived + play.end, bytes, size);
    play.end += size;
    if (play.state != NULL) (void)look();
}

/* Whether the session is over for the program, which finds it when it uses its endpoint. */
static bool is_over(void)
{
    if (play.state == NULL) return true;
    const duo_status status = look();
    if (status == DUO_OK || status == DUO_EMPTY || status == DUO_FULL) return false;
    if (play.receives) (void)receive();
    else (void)send_message(name_of(play.state->messages));
    return play.state == NULL;
}

/* The connection accepts this many bytes. The writer waits for that, but no earlier than a millisecond after the refusal. */
static void accept_bytes(size_t count)
{
    if (play.is_unpolled) pass(MILLISECOND);
    play.accepts = count;
    let_write();
}

static void flush(void)
{
    if (play.state != NULL) (void)duo_net_flush(play.endpoint);
    else accept_bytes(play.accepts);
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* The next deadline, as a text. */
static const char *deadline(void)
{
    static char text[32];
    const duo_net *net = play.net;
    uint64_t at = DUO_FOREVER;
    if (!play.is_closed && net->lingers) at = net->lingers_until;
    if (!play.is_closed && !net->lingers) at = duo_net_limit(net);
    if (!play.is_closed && !net->lingers && net->beat != 0) at = earlier(at, net->written_at + net->beat / 2);
    if (at == DUO_FOREVER) return "none";
    snprintf(text, sizeof text, "%ju", (uintmax_t)((at - now) / MILLISECOND));
    return text;
}

/* Whether exactly these bytes were written since the last time, and no others. */
static bool is_written(const char *hex)
{
    uint8_t expected[sizeof play.written];
    const size_t size = raw_bytes(hex, expected, sizeof expected), found = play.size;
    play.size = 0;
    return size == found && memcmp(expected, play.written, size) == 0;
}

/* Takes off ` x N`, how often a step is repeated. */
static size_t repeated(char *step)
{
    char *times = strstr(step, " x ");
    if (times == NULL) return 1;
    *times = '\0';
    return strtoul(times + 3, NULL, 10);
}

/* Does a step; whether it goes as it should. Bytes of the peer arrive this many at a time. */
static bool act(const char *line, size_t chunk)
{
    char step[512];
    snprintf(step, sizeof step, "%s", line);
    const size_t count = repeated(step), verb = strcspn(step, " ");
    const char *rest = step[verb] == ' ' ? step + verb + 1 : "";
    bool is_right = true;
    step[verb] = '\0';
    if (strcmp(step, "send") == 0) {
        for (size_t i = 0; i < count && is_right; i++) is_right = send_message(rest);
    } else if (strcmp(step, "recv") == 0) {
        for (size_t i = 0; i < count && is_right; i++) is_right = strcmp(receive(), rest) == 0;
    } else if (strcmp(step, "drop") == 0) {
        CHECK(duo_close(play.endpoint, play.state) == DUO_OK);
        end_with(DUO_CLOSED);
    } else if (strcmp(step, "flush") == 0) {
        flush();
    } else if (strcmp(step, "<") == 0) {
        uint8_t bytes[256];
        const size_t size = raw_bytes(rest, bytes, sizeof bytes);
        for (size_t i = 0; i < count; i++)
            for (size_t at = 0; at < size; at += chunk) arrive(bytes + at, size - at < chunk ? size - at : chunk);
    } else if (strcmp(step, ">") == 0) {
        is_right = is_written(rest);
    } else if (strcmp(step, "cut") == 0) {
        play.is_cut = true;
    } else if (strcmp(step, "fails") == 0) {
        play.fails = true;
    } else if (strcmp(step, "accept") == 0) {
        accept_bytes(strcmp(rest, "all") == 0 ? SIZE_MAX : strtoul(rest, NULL, 10));
    } else if (strcmp(step, "pass") == 0) {
        pass(strtoul(rest, NULL, 10) * MILLISECOND);
    } else if (strcmp(step, "full") == 0) {
        const size_t before = play.from;
        is_right = look() == DUO_OK && play.from == before && before < play.end;
    } else if (strcmp(step, "deadline") == 0) {
        is_right = strcmp(deadline(), rest) == 0;
    } else if (strcmp(step, "open") == 0) {
        is_right = !is_over();
    } else {
        const bool closes = strcmp(step, "closed") == 0;
        CHECK(closes || strcmp(step, "over") == 0);
        is_right = is_over() && strcmp(play.why, rest) == 0 && play.is_closed == closes;
    }
    let_write();
    return is_right;
}

/* Leaves the session, whatever its state, and waits until its connection is closed. */
static void leave(void)
{
    if (play.state != NULL) CHECK(duo_close(play.endpoint, play.state) == DUO_OK);
    play.fails = true;
    pass(MILLISECOND);
    CHECK(play.is_closed);
}

enum { MOST_STEPS = 64 };

static char session[512], steps[MOST_STEPS][512];
static size_t steps_count;

static bool is_server(const char *line)
{
    return strstr(line, " server") != NULL;
}

static const char *difference_of(const char *line)
{
    char name[128];
    CHECK(sscanf(line, "session %127s", name) == 1);
    for (size_t i = 0; i < DIFFERENCES; i++)
        if (strcmp(differences[i].name, name) == 0) return differences[i].step;
    return NULL;
}

/* Plays the session: all of it, or up to the step with which C does something else. */
static void play_session(size_t chunk)
{
    const char *other = difference_of(session);
    size_t i = 0;
    begin(is_server(session), session);
    while (i < steps_count && act(steps[i], chunk)) i++;
    const bool is_whole = i == steps_count && play.size == 0;
    const bool is_right = other == NULL ? is_whole : i < steps_count && strcmp(steps[i], other) == 0;
    if (!is_right) fprintf(stderr, "%s: step %zu, %s\n", session, i, i < steps_count ? steps[i] : "more was written");
    CHECK(is_right);
    leave();
}

static size_t cuts;

/* The connection ends after each byte that the peer sends in a step. The session is lost. */
static void cut_session(size_t step)
{
    uint8_t bytes[256];
    const size_t size = raw_bytes(steps[step] + 2, bytes, sizeof bytes);
    for (size_t count = 0; count < size; count++) {
        begin(is_server(session), session);
        for (size_t i = 0; i < step; i++) CHECK(act(steps[i], SIZE_MAX));
        arrive(bytes, count);
        CHECK(act("cut", 1) && act("pass 20000", 1));
        while (play.state != NULL) CHECK(strcmp(receive(), "nothing") != 0);
        const bool is_right = strcmp(play.why, "lost") == 0 && play.is_closed;
        if (!is_right) fprintf(stderr, "%s, cut after %zu bytes of %s: %s\n", session, count, steps[step], play.why);
        CHECK(is_right);
        cuts++;
    }
}

/* A line `broken`: the session ends, and the peer learns why. */
static void check_broken(const char *line, size_t chunk)
{
    char arrives[512];
    snprintf(arrives, sizeof arrives, "<%s", strrchr(line, ' '));
    begin(strstr(line, " server ") != NULL, " largest=64");
    if (!play.receives) CHECK(act("send ask", 1) && act("> 03", 1));
    CHECK(act(arrives, chunk));
    while (play.state != NULL && play.receives) CHECK(strcmp(receive(), "nothing") != 0);
    bool is_right = act("closed broken", 1) && act("> 000301", 1);
    if (!is_right) fprintf(stderr, "%s\n", line);
    CHECK(is_right);
}

/* Lets the writer run for the first time, for a session that has work for it. */
static void start_the_writer(void)
{
    begin(false, " ours=1");
    await_writer();
    leave();
}

TEST(transcripts)
{
    FILE *file = fopen(TESTS "/wire/sessions.txt", "r");
    char line[512];
    size_t sessions = 0, different = 0, broken = 0;
    CHECK(file != NULL);
    program = pthread_self();
    start_the_writer();
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "broken ", 7) == 0) {
            check_broken(line, SIZE_MAX);
            /* A side that sends does not read what has come too early, unless it came with what was in time. */
            if (strncmp(line, "broken out_of_turn", 18) != 0) check_broken(line, 1);
            broken++;
        } else if (strncmp(line, "session ", 8) == 0) {
            memcpy(session, line, sizeof session);
            steps_count = 0;
        } else if (line[0] != '\0' && line[0] != '#') {
            CHECK(steps_count < MOST_STEPS);
            memcpy(steps[steps_count++], line, sizeof line);
        } else if (steps_count > 0) {
            play_session(1);
            play_session(SIZE_MAX);
            for (size_t i = 0; i < steps_count && difference_of(session) == NULL; i++)
                if (steps[i][0] == '<' && strstr(steps[i], " x ") == NULL) cut_session(i);
            if (difference_of(session) != NULL) different++;
            steps_count = 0;
            sessions++;
        }
    }
    fclose(file);
    CHECK(different == DIFFERENCES);
    CHECK(sessions > 30 && cuts > 70 && broken > 10);
    CHECK(duo_shutdown() == 0);
}
