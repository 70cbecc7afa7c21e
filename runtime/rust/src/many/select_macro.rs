//! The syntax of `select!`, which expands to a wait and a `match` per endpoint.

/// Waits on several endpoints of different protocols and receives from one that is ready.
///
/// Each endpoint is a variable or field that can be borrowed mutably. It has an arm for each message that it can
/// receive, and one for `closed`; a missing arm is a compile error that names it. If several endpoints are ready,
/// each gets its turn. The endpoints that were not chosen stay as they are. `select!` is an expression, and `?`,
/// `break`, `continue` and `return` work in the arms.
///
/// ```
/// # use duologue_runtime as duologue;
/// # mod foo {
/// #     pub enum Foo { DoFoo(duologue_runtime::Receiver<S>) }
/// #     pub struct S;
/// #     impl duologue_runtime::generated::State for S {
/// #         type Message = Foo;
/// #         const NAME: &'static str = "foo.foo";
/// #         fn open(branch: duologue_runtime::generated::Branch<Self>) -> Foo { Foo::DoFoo(branch.take::<0>().1) }
/// #     }
/// #     impl duologue_runtime::generated::Transition<0> for S { type Payload = (); type Next = duologue_runtime::generated::Stay<S>; }
/// # }
/// # mod bar {
/// #     pub enum Bar { DoBar(u8, duologue_runtime::Receiver<S>), DoBaz { on: bool, next: duologue_runtime::Receiver<S> } }
/// #     pub struct S;
/// #     impl duologue_runtime::generated::State for S {
/// #         type Message = Bar;
/// #         const NAME: &'static str = "bar.bar";
/// #         fn open(branch: duologue_runtime::generated::Branch<Self>) -> Bar {
/// #             match branch.index() {
/// #                 0 => { let (x, next) = branch.take::<0>(); Bar::DoBar(x, next) }
/// #                 1 => { let (on, next) = branch.take::<1>(); Bar::DoBaz { on, next } }
/// #                 _ => branch.refuse(),
/// #             }
/// #         }
/// #     }
/// #     impl duologue_runtime::generated::Transition<0> for S { type Payload = u8; type Next = duologue_runtime::generated::Stay<S>; }
/// #     impl duologue_runtime::generated::Transition<1> for S { type Payload = bool; type Next = duologue_runtime::generated::Stay<S>; }
/// # }
/// # type Ends = (duologue_runtime::Receiver<foo::S>, duologue_runtime::Receiver<bar::S>);
/// # fn keep(_: duologue_runtime::Receiver<foo::S>) {}
/// # fn wait((mut foo, mut bar): Ends) -> Result<u8, duologue_runtime::Closed> {
/// let number = duologue::select! {
///     foo => {
///         foo::Foo::DoFoo -> next => { keep(next); 1 }
///         closed(why) => return Err(why),
///     }
///     bar => {
///         bar::Bar::DoBar(x) -> _next { x }
///         bar::Bar::DoBaz { on: true, .. } -> _next => 1,
///         bar::Bar::DoBaz { .. } => 0,
///         closed => 6,
///     }
///     after(std::time::Duration::from_secs(1)) => 7,
/// };
/// # Ok(number)
/// # }
/// ```
///
/// * `Message -> next => value`, `Message(payload) -> next => value` and, if the fields have names,
///   `Message { field, .. } -> next => value`: the message, its payload as patterns, and a pattern for the next endpoint.
///   `Message(payload) -> next { block }` does not need the `=>`. Without `->`, the pattern is an ordinary pattern of the
///   enum's variant.
/// * `closed => value` or `closed(why) => value`: the peer has disconnected; `why` is a [`Closed`](crate::Closed).
/// * `ready => value`, as the only arm of an endpoint: the endpoint is ready, and nothing is received from it. So an
///   endpoint that waits for space to send can be listed next to those that wait for messages.
/// * `after(duration) => value`: no endpoint was ready within this time.
///
/// `select! { async; ... }` is the same for tasks: it awaits, on any executor, and the limit is a future, as in
/// `after(tokio::time::sleep(duration)) => value`.
///
/// A select without endpoints does not compile.
///
/// # Cancel safety
///
/// While `select! { async; ... }` waits, it only borrows its endpoints, and has received nothing. If it is dropped there,
/// the endpoints that live elsewhere stay as they are. Once an endpoint was chosen, nothing is awaited except in the arms.
#[macro_export]
macro_rules! select {
    (async; $($arms:tt)*) => {
        $crate::__select!(@ends async [] () $($arms)*)
    };
    ($($arms:tt)*) => {
        $crate::__select!(@ends thread [] () $($arms)*)
    };
}

/// The steps of [`select!`]: `@ends` collects endpoints, `@limit` the rest of an `after` arm, `@wait` generates the
/// wait, `@choose` the choice, `@arm` and `@body` the arms of one `match`, after `closed;` if one of them is for a peer that
/// has disconnected, otherwise `open;`.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@ends $mode:ident [] ()) => {
        ::core::compile_error!("`select!` needs an endpoint: without one it would wait forever")
    };
    (@ends $mode:ident [] ($($limit:tt)+)) => {
        ::core::compile_error!("`select!` needs an endpoint: to wait for time alone, use a sleep")
    };
    (@ends $mode:ident [$($ends:tt)+] ($($limit:tt)*)) => {
        {
            let chosen: usize = $crate::__select!(@wait $mode [$($ends)+] ($($limit)*));
            $crate::__select!(@choose chosen (0) [$($ends)+] ($($limit)*))
        }
    };
    (@ends $mode:ident $ends:tt () after($limit:expr) => $($rest:tt)+) => {
        $crate::__select!(@limit $mode $ends ($limit) $($rest)+)
    };
    (@ends $mode:ident $ends:tt ($($limit:tt)+) after($again:expr) => $($rest:tt)+) => {
        ::core::compile_error!("`select!` has two `after` arms")
    };
    (@ends $mode:ident [$($ends:tt)*] $limit:tt $end:ident $(.$field:tt)* => { $($arms:tt)* }, $($rest:tt)*) => {
        $crate::__select!(@ends $mode [$($ends)* { ($end $(.$field)*) $($arms)* }] $limit $($rest)*)
    };
    (@ends $mode:ident [$($ends:tt)*] $limit:tt $end:ident $(.$field:tt)* => { $($arms:tt)* } $($rest:tt)*) => {
        $crate::__select!(@ends $mode [$($ends)* { ($end $(.$field)*) $($arms)* }] $limit $($rest)*)
    };

    (@limit $mode:ident $ends:tt ($limit:expr) $body:block, $($rest:tt)*) => {
        $crate::__select!(@ends $mode $ends ({ $limit } $body) $($rest)*)
    };
    (@limit $mode:ident $ends:tt ($limit:expr) $body:block $($rest:tt)*) => {
        $crate::__select!(@ends $mode $ends ({ $limit } $body) $($rest)*)
    };
    (@limit $mode:ident $ends:tt ($limit:expr) $body:expr, $($rest:tt)*) => {
        $crate::__select!(@ends $mode $ends ({ $limit } $body) $($rest)*)
    };
    (@limit $mode:ident $ends:tt ($limit:expr) $body:expr) => {
        $crate::__select!(@ends $mode $ends ({ $limit } $body))
    };

    (@wait thread [$({ ($($end:tt)+) $($arms:tt)* })+] ()) => {
        $crate::expansion::wait(
            [$($crate::Endpoint::watch(&mut $($end)+)),+],
            ::core::option::Option::None,
        )
    };
    (@wait thread [$({ ($($end:tt)+) $($arms:tt)* })+] ({ $limit:expr } $body:expr)) => {
        $crate::expansion::wait(
            [$($crate::Endpoint::watch(&mut $($end)+)),+],
            ::core::option::Option::Some($limit),
        )
    };
    (@wait async [$({ ($($end:tt)+) $($arms:tt)* })+] ()) => {
        $crate::expansion::wait_async(
            [$($crate::Endpoint::watch(&mut $($end)+)),+],
            ::core::future::pending::<()>(),
        )
        .await
    };
    (@wait async [$({ ($($end:tt)+) $($arms:tt)* })+] ({ $limit:expr } $body:expr)) => {
        $crate::expansion::wait_async(
            [$($crate::Endpoint::watch(&mut $($end)+)),+],
            $limit,
        )
        .await
    };

    (@choose $chosen:ident ($at:expr) [] ()) => {
        ::core::unreachable!("the wait ends when an endpoint is ready")
    };
    (@choose $chosen:ident ($at:expr) [] ({ $limit:expr } $body:expr)) => {
        $body
    };
    (@choose $chosen:ident ($at:expr) [{ $end:tt $($arms:tt)* } $($ends:tt)*] $limit:tt) => {
        if $chosen == $at {
            $crate::__select!(@arm $end [open;] $($arms)*)
        } else {
            $crate::__select!(@choose $chosen ($at + 1) [$($ends)*] $limit)
        }
    };

    (@arm $end:tt [open;] ready => $body:expr $(,)?) => {
        $body
    };
    (@arm ($($end:tt)+) [closed; $($arms:tt)*]) => {
        match $crate::Receive::receive($($end)+) { $($arms)* }
    };
    (@arm ($($end:tt)+) [open; $($arms:tt)*]) => {
        ::core::compile_error!(::core::concat!(
            "`", ::core::stringify!($($end)+), "` has no `closed` arm: its peer may disconnect",
        ))
    };
    (@arm $end:tt [$has:ident; $($arms:tt)*] closed => $($rest:tt)+) => {
        $crate::__select!(@body $end [closed; $($arms)*] (::core::result::Result::Err(_)) $($rest)+)
    };
    (@arm $end:tt [$has:ident; $($arms:tt)*] closed($why:pat) => $($rest:tt)+) => {
        $crate::__select!(@body $end [closed; $($arms)*] (::core::result::Result::Err($why)) $($rest)+)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ ($($value:pat),* $(,)?) -> $next:ident { $($body:tt)* } $($rest:tt)*) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+($($value,)* $next)))
            { $($body)* } $($rest)*)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ ($($value:pat),* $(,)?) -> $next:pat => $($rest:tt)+) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+($($value,)* $next))) $($rest)+)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ ($($value:pat),* $(,)?) { $($body:tt)* } $($rest:tt)*) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+($($value),*)))
            { $($body)* } $($rest)*)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ { $($field:tt)* } -> $next:ident { $($body:tt)* } $($rest:tt)*) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+ { next: $next, $($field)* }))
            { $($body)* } $($rest)*)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ { $($field:tt)* } -> $next:pat => $($rest:tt)+) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+ { next: $next, $($field)* })) $($rest)+)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ { $($field:tt)* } => $($rest:tt)+) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+ { $($field)* })) $($rest)+)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ { $($field:tt)* } | $others:pat => $($rest:tt)+) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+ { $($field)* } | $others)) $($rest)+)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ { $($field:tt)* } { $($body:tt)* } $($rest:tt)*) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+ { $($field)* }))
            { $($body)* } $($rest)*)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ -> $next:ident { $($body:tt)* } $($rest:tt)*) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+($next))) { $($body)* } $($rest)*)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ -> $next:pat => $($rest:tt)+) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+($next))) $($rest)+)
    };
    (@arm $end:tt $arms:tt $($message:ident)::+ { $($body:tt)* } $($rest:tt)*) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($($message)::+)) { $($body)* } $($rest)*)
    };
    (@arm $end:tt $arms:tt $message:pat => $($rest:tt)+) => {
        $crate::__select!(@body $end $arms (::core::result::Result::Ok($message)) $($rest)+)
    };

    (@body $end:tt [$($arms:tt)*] ($pattern:pat) $body:block, $($rest:tt)*) => {
        $crate::__select!(@arm $end [$($arms)* $pattern => $body,] $($rest)*)
    };
    (@body $end:tt [$($arms:tt)*] ($pattern:pat) $body:block $($rest:tt)*) => {
        $crate::__select!(@arm $end [$($arms)* $pattern => $body,] $($rest)*)
    };
    (@body $end:tt [$($arms:tt)*] ($pattern:pat) $body:expr, $($rest:tt)*) => {
        $crate::__select!(@arm $end [$($arms)* $pattern => $body,] $($rest)*)
    };
    (@body $end:tt [$($arms:tt)*] ($pattern:pat) $body:expr) => {
        $crate::__select!(@arm $end [$($arms)* $pattern => $body,])
    };

    (@$step:ident $($other:tt)*) => {
        ::core::compile_error!(
            "`select!` expects `endpoint => { Message(payload) -> next => value, closed => value }` for each endpoint, \
             and at most one `after(duration) => value`"
        )
    };
}
