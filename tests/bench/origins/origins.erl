%% The origins in Erlang, for `cargo bench --bench origins`. Reads lines with an origin, its size and a number of operations, and answers each
%% with the sum of what arrived and the nanoseconds that it took, without the start of processes that live to the end.
-module(origins).
-export([main/0]).

main() ->
    case io:get_line("") of
        eof ->
            halt();
        Line ->
            [Origin, Size, Operations | _] = string:lexemes(Line, " \n"),
            {Sum, Time} = run(Origin, list_to_integer(Size), list_to_integer(Operations)),
            io:format("~b ~b~n", [Sum, Time]),
            main()
    end.

timed(Work) ->
    Start = erlang:monotonic_time(nanosecond),
    Sum = Work(),
    {Sum, erlang:monotonic_time(nanosecond) - Start}.

%% Each sender sends its numbers and ends, and its end arrives after them.
run("msgsend", Senders, Count) ->
    timed(fun() ->
        Main = self(),
        [spawn_monitor(fun() -> send(Main, 0, Count) end) || _ <- lists:seq(1, Senders)],
        hear(Senders, 0)
    end);
%% Each actor sends a message to all others, which answer it.
run("bang", Actors, Rounds) ->
    Main = self(),
    All = [spawn_link(fun() -> actor(Number, Actors, Rounds, Main) end) || Number <- lists:seq(0, Actors - 1)],
    persistent_term:put(all, list_to_tuple(All)),
    timed(fun() ->
        [Actor ! start || Actor <- All],
        total(Actors, 0)
    end);
%% Each process passes on the token. The first has it first and last.
run("ring", Processes, Laps) ->
    Main = self(),
    First = spawn_link(fun() ->
        receive {next, Next} -> ok end,
        receive start -> Next ! 1 end,
        Main ! {done, pass(Next, Laps, first, 0)}
    end),
    Add = fun(_, Next) -> spawn_link(fun() -> Main ! {done, pass(Next, Laps, other, 0)} end) end,
    First ! {next, lists:foldl(Add, First, lists:seq(2, Processes))},
    timed(fun() ->
        First ! start,
        total(Processes, 0)
    end).

send(_, Count, Count) -> ok;
send(To, N, Count) ->
    To ! N,
    send(To, N + 1, Count).

hear(0, Sum) -> Sum;
hear(Open, Sum) ->
    receive
        N when is_integer(N) -> hear(Open, Sum + N);
        {'DOWN', _, process, _, normal} -> hear(Open - 1, Sum)
    end.

total(0, Sum) -> Sum;
total(Left, Sum) ->
    receive {done, Part} -> total(Left - 1, Sum + Part) end.

actor(Number, Actors, Rounds, Main) ->
    receive start -> ok end,
    All = persistent_term:get(all),
    Main ! {done, rounds(Number, All, Rounds, (Actors - 1) * Rounds, 0)}.

rounds(_, _, 0, 0, Sum) -> Sum;
rounds(Number, All, Rounds, ToAnswer, Sum) ->
    Actors = tuple_size(All),
    [element((Number + Distance) rem Actors + 1, All) ! {ask, self()} || Distance <- lists:seq(1, Actors - 1)],
    {Answered, Added} = mail(Number, Rounds, Actors - 1, ToAnswer, Sum),
    rounds(Number, All, Rounds - 1, Answered, Added).

mail(_, Rounds, 0, ToAnswer, Sum) when Rounds > 1; ToAnswer =:= 0 -> {ToAnswer, Sum};
mail(Number, Rounds, ToCome, ToAnswer, Sum) ->
    receive
        {ask, From} ->
            From ! answer,
            mail(Number, Rounds, ToCome, ToAnswer - 1, Sum);
        answer ->
            mail(Number, Rounds, ToCome - 1, ToAnswer, Sum + Number)
    end.

pass(_, 0, _, Sum) -> Sum;
pass(Next, Laps, Place, Sum) ->
    receive
        Token when Laps =:= 1, Place =:= first -> Sum + Token;
        Token when is_integer(Token) ->
            Next ! Token,
            pass(Next, Laps - 1, Place, Sum + Token)
    end.
