// Generated code in C++, with endpoints and messages that clean up after themselves.
#include "call.h"
#include "desk_events.h"
#include "duologue.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using client_asking = duologue::endpoint<desk_client_asking_close>;
using client_answering = duologue::endpoint<desk_client_answering_close>;
using server_asking = duologue::endpoint<desk_server_asking_close>;
using server_answering = duologue::endpoint<desk_server_answering_close>;
using server_any = duologue::endpoint<desk_server_any_close>;
using question = duologue::message<desk_asking_free>;
using answer = duologue::message<desk_answering_free>;

static_assert(!std::is_copy_constructible_v<client_asking> && !std::is_copy_assignable_v<client_asking>);
static_assert(!std::is_copy_constructible_v<question> && !std::is_copy_assignable_v<question>);
static_assert(std::is_nothrow_move_constructible_v<client_asking> && std::is_nothrow_move_assignable_v<question>);
static_assert(sizeof(client_asking) == sizeof(desk_client_asking_t));
// One state's endpoint is not another's, and a side is not the other one.
static_assert(!std::is_convertible_v<client_asking, desk_client_answering_t>);
static_assert(!std::is_convertible_v<client_asking, desk_server_asking_t>);

void check(bool holds, int line)
{
    if (holds) return;
    std::fprintf(stderr, "line %d does not hold\n", line);
    std::exit(1);
}

#define CHECK(condition) check(condition, __LINE__)

void dialogue()
{
    server_asking server;
    client_asking client;
    client_answering waiting;
    question asked;
    answer said;
    CHECK(desk_init(server.place(), client.place()) == DUO_OK);
    CHECK(desk_server_asking_try_recv(server, asked.place()) == DUO_EMPTY);
    const std::string why = "why";
    CHECK(desk_client_asking_send_ask(client, duologue::text(why), 7, waiting.place()) == DUO_OK);
    CHECK(client.close() == DUO_USED);
    CHECK(desk_server_asking_recv(server, asked.place()) == DUO_OK);
    CHECK(asked->tag == DESK_ASKING_ASK && duologue::view(asked->as.ask.question) == why);
    server_answering answering{asked->as.ask.next};
    CHECK(desk_server_answering_send_answer(answering, duologue::text("because"), server.place()) == DUO_OK);
    CHECK(desk_client_answering_recv(waiting, said.place()) == DUO_OK);
    // A message that moves keeps what it owns, and one that is received over another frees it.
    answer moved = std::move(said);
    CHECK(duologue::view(moved->as.answer.text) == "because" && said->tag == 0);
    client = client_asking{moved->as.answer.next};
    // The next endpoint may go where the present one is.
    CHECK(desk_client_asking_send_complain(client, TONE_LOUD, {MOOD_CALM, {}}, client.place()) == DUO_OK);
    CHECK(desk_server_asking_recv(server, asked.place()) == DUO_OK && asked->tag == DESK_ASKING_COMPLAIN);
    server = server_asking{asked->as.complain.next};
    CHECK(duologue::view(duo_str{nullptr, 0}).empty());
}

// What a question weighs; handlers may move what they hold, and leave out what they do not need.
std::size_t weight(question &asked, server_asking &server, server_answering &answering)
{
    auto talk = std::make_unique<int>(1);
    return duologue::visit(
        asked,
        duologue::on<DESK_ASKING_ASK>([&](auto &ask) {
            answering = server_answering{ask.next};
            return ask.question.size + ask.context;
        }),
        duologue::on<DESK_ASKING_LEND>([talk = std::move(talk)](auto &lend) {
            return static_cast<std::size_t>(*talk) + (lend.keep ? 1u : 0u);
        }),
        duologue::on<DESK_ASKING_COMPLAIN>([&](auto &complain) {
            server = server_asking{complain.next};
            return std::size_t{100};
        }),
        duologue::on<DESK_ASKING_FEED>([](const auto &feed) { return static_cast<std::size_t>(feed.count); }),
        duologue::on<DESK_ASKING_REST>([] { return std::size_t{0}; }),
        duologue::on<DESK_ASKING_BYE>([] { return std::size_t{0}; }));
}

void visits()
{
    server_asking server;
    client_asking client;
    server_answering answering;
    client_answering waiting;
    question asked;
    answer said;
    CHECK(desk_init(server.place(), client.place()) == DUO_OK);
    CHECK(desk_client_asking_send_complain(client, TONE_LOUD, {MOOD_CALM, {}}, client.place()) == DUO_OK);
    CHECK(desk_server_asking_recv(server, asked.place()) == DUO_OK);
    CHECK(weight(asked, server, answering) == 100);
    CHECK(desk_client_asking_send_ask(client, duologue::text("why"), 7, waiting.place()) == DUO_OK);
    CHECK(desk_server_asking_recv(server, asked.place()) == DUO_OK);
    CHECK(desk_asking_as_ask(&*asked)->context == 7 && weight(asked, server, answering) == 10);
    CHECK(desk_server_answering_send_busy(answering, server.place()) == DUO_OK);
    CHECK(desk_client_answering_recv(waiting, said.place()) == DUO_OK);
    // A message that is not held by an object, and handlers that return nothing.
    desk_answering_t &plain = *said;
    bool is_busy = false;
    duologue::visit(plain, duologue::on<DESK_ANSWERING_ANSWER>([] {}), duologue::on<DESK_ANSWERING_BUSY>([&](auto &busy) {
                        is_busy = true;
                        client = client_asking{busy.next};
                    }));
    CHECK(is_busy && desk_client_asking_send_bye(client) == DUO_OK);
}

#ifdef __cpp_lib_span
void spans()
{
    const duo_bytes nothing{nullptr, 0};
    CHECK(duologue::span(nothing).empty());
    const std::uint8_t three[] = {1, 2, 250};
    const duo_bytes bytes{three, std::size(three)};
    const std::span<const std::uint8_t> seen = duologue::span(bytes);
    CHECK(seen.size() == 3 && seen.data() == three && seen.back() == 250);
    int sum = 0;
    for (const std::uint8_t byte : duologue::span(bytes)) sum += byte;
    CHECK(sum == 253);
}
#elif __cplusplus >= 202002L
#error "C++20 has std::span, and duologue.hpp must offer it"
#endif

void endings()
{
    server_asking server;
    client_asking client;
    CHECK(desk_init(server.place(), client.place()) == DUO_OK);
    {
        // The scope ends, and the session with it.
        client_asking other = std::move(client);
        CHECK(client.get().sends.session == nullptr);
    }
    question asked;
    CHECK(desk_server_asking_recv(server, asked.place()) == DUO_CLOSED);

    // Assigning closes what was there.
    CHECK(desk_init(server.place(), client.place()) == DUO_OK);
    server_any any{desk_server_asking_any(server.release())};
    CHECK(any.get().tag == DESK_SERVER_ASKING);
    any = server_any{};
    CHECK(desk_client_asking_send_bye(client) == DUO_CLOSED);

    // So does a function that stores another endpoint there.
    server_asking other_server;
    CHECK(desk_init(server.place(), client.place()) == DUO_OK);
    CHECK(desk_init(other_server.place(), client.place()) == DUO_OK);
    CHECK(desk_server_asking_recv(server, asked.place()) == DUO_CLOSED);
    CHECK(desk_server_asking_try_recv(other_server, asked.place()) == DUO_EMPTY);

    // What is released is not closed.
    CHECK(desk_init(server.place(), client.place()) == DUO_OK);
    const desk_client_asking_t released = client.release();
    CHECK(client.close() == DUO_USED && desk_client_asking_close(released) == DUO_OK);
}

}  // namespace

int main()
{
    dialogue();
    visits();
    endings();
#ifdef __cpp_lib_span
    spans();
#endif
    return 0;
}
