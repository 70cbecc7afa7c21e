// duologue.hpp: generated C in C++17, with endpoints and messages that are closed and freed by their destructors.
//
// The typed functions are those of the generated headers. An `endpoint` and a `message` are passed to them as they are:
//
//     duologue::endpoint<bank_client_login_close> client;
//     duologue::endpoint<bank_client_login_response_close> waiting;
//     status = bank_client_login_send_login(client, duologue::text("holk"), duologue::text("1234"), waiting.place());
//
// Nothing here throws, allocates, or costs more than the functions that it calls.
#ifndef DUOLOGUE_HPP
#define DUOLOGUE_HPP

#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif

#include "duologue.h"

namespace duologue {

// The type of which a function takes a value, or a pointer to one.
template <typename> struct taken;
template <typename Type> struct taken<duo_status (*)(Type)> {
    using type = Type;
};
template <typename Type> struct taken<void (*)(Type *)> {
    using type = Type;
};
template <auto Function> using taken_by = typename taken<decltype(Function)>::type;

// An endpoint with the function that closes it: `_close` of its state, or `_any_close`. An endpoint that was used is
// not closed, since closing it changes nothing.
template <auto Close> class endpoint {
public:
    using type = taken_by<Close>;

    endpoint() noexcept = default;
    explicit endpoint(type from) noexcept : held(from) {}
    endpoint(endpoint &&other) noexcept : held(other.release()) {}
    endpoint(const endpoint &) = delete;
    endpoint &operator=(const endpoint &) = delete;
    endpoint &operator=(endpoint &&other) noexcept
    {
        if (this != &other) {
            close();
            held = other.release();
        }
        return *this;
    }
    ~endpoint() { close(); }

    // For functions that use the endpoint. It stays here if they do not use it, as with DUO_EMPTY.
    operator type() const noexcept { return held; }
    const type &get() const noexcept { return held; }

    // For functions that store an endpoint, as an argument. After the call, what was here before is closed, unless the
    // function has used it or has stored nothing.
    class stored {
    public:
        // Copies the bytes, so that padding differs only if the function has stored something.
        explicit stored(endpoint &in) noexcept : place(in) { std::memcpy(&before, &in.held, sizeof before); }
        stored(const stored &) = delete;
        stored &operator=(const stored &) = delete;
        ~stored()
        {
            if (std::memcmp(&before, &place.held, sizeof before) != 0) (void)Close(before);
        }
        operator type *() const noexcept { return &place.held; }

    private:
        endpoint &place;
        type before;
    };
    stored place() noexcept { return stored{*this}; }

    // Gives the endpoint away: it is no longer closed here.
    type release() noexcept { return std::exchange(held, type{}); }

    // Closes it now; DUO_USED if it was used.
    duo_status close() noexcept { return Close(release()); }

private:
    type held{};
};

// A received message with the function that frees it. Its next endpoint is not closed with it: give it to an `endpoint`.
template <auto Free> class message {
public:
    using type = taken_by<Free>;

    message() noexcept = default;
    message(message &&other) noexcept : held(other.release()) {}
    message(const message &) = delete;
    message &operator=(const message &) = delete;
    message &operator=(message &&other) noexcept
    {
        if (this != &other) {
            free();
            held = other.release();
        }
        return *this;
    }
    ~message() { free(); }

    type *operator->() noexcept { return &held; }
    const type *operator->() const noexcept { return &held; }
    type &operator*() noexcept { return held; }
    const type &operator*() const noexcept { return held; }

    // For functions that receive: frees what was here before.
    type *place() noexcept
    {
        free();
        return &held;
    }

    // Gives the message away: it is no longer freed here.
    type release() noexcept { return std::exchange(held, type{}); }

    // Frees it now. The entries of its union must not be read afterwards: with DUO_DEBUG they are overwritten.
    void free() noexcept { Free(&held); }

private:
    type held{};
};

// What `visit` does with the message of this tag: the function gets what the message consists of, by reference, or nothing.
template <auto Tag, typename Function> struct handler {
    using tag = std::integral_constant<decltype(Tag), Tag>;

    template <typename Entries> decltype(auto) operator()(tag, Entries &entries)
    {
        if constexpr (std::is_invocable_v<Function &, Entries &>) return call(entries);
        else return call();
    }

    Function call;
};
template <auto Tag, typename Function> handler<Tag, Function> on(Function call)
{
    return {std::move(call)};
}

// The handlers of one call of `visit`.
template <typename... All> struct handlers : All... {
    using All::operator()...;

    // Whether one of them, and no more, is for this message.
    template <auto Tag>
    static constexpr bool handles =
        (int{std::is_same_v<typename All::tag, std::integral_constant<decltype(Tag), Tag>>} + ... + 0) == 1;

    template <auto Tag, typename Entries> decltype(auto) handle(Entries &entries)
    {
        return (*this)(std::integral_constant<decltype(Tag), Tag>{}, entries);
    }
};

// Calls the handler of the message that arrived, and returns what it returns. It does not compile unless there is one for
// each message of the state. If no message arrived, or it was freed, the program ends with a report.
//
//     duologue::visit(answer, duologue::on<BANK_LOGIN_RESPONSE_OK>([&](auto &ok) { connected = ok.next; }),
//                     duologue::on<BANK_LOGIN_RESPONSE_INVALID>([&](auto &invalid) { login = invalid.next; }));
template <typename Received, typename... All> auto visit(Received &received, All... all)
{
    using tag = decltype(received.tag);
    static_assert((std::is_same_v<typename All::tag::value_type, tag> && ...), "a handler is for a message of another state");
    handlers<All...> of_state{std::move(all)...};
    return duo_visit(received, of_state);
}
template <auto Free, typename... All> auto visit(message<Free> &received, All... all)
{
    return visit(*received, std::move(all)...);
}

// Text for functions that send, which borrow it for the duration of the call.
inline duo_str text(std::string_view from) noexcept
{
    return duo_str{from.data(), from.size()};
}

// A view of received text, for as long as its message is there.
inline std::string_view view(duo_str from) noexcept
{
    return from.size == 0 ? std::string_view{} : std::string_view{from.data, from.size};
}

#ifdef __cpp_lib_span
// A view of received bytes, or of a list.
template <typename List> auto span(const List &from) noexcept
{
    return std::span{from.data, from.size};
}
#endif

}  // namespace duologue

#endif
