//! What a program can rely on, by what, and where that is tested: the same for every protocol. `tests/suite/guarantee.rs` finds every
//! test that is named here.

use serde::Serialize;

/// What makes sure of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// `duologue check`.
    Checker,
    /// The compiler of the target language.
    Compiler,
    /// The runtime, while the program runs.
    Runtime,
    /// Nothing: the program has to.
    Nobody,
}

/// Who proves a claim in a language, how, and where to read on: a file of the repository, and a text in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    pub by: By,
    pub how: &'static str,
    pub see: &'static [(&'static str, &'static str)],
}

/// What a protocol has to have so that a claim says something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Stuck,
    Turns,
    Reachability,
    Ends,
    Capacity,
    Waiting,
    Fingerprint,
    SizeLimits,
    TimeLimits,
    /// Every protocol, in the same words.
    All,
}

/// Something that a program can rely on, or not.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub id: &'static str,
    pub about: About,
    pub words: &'static str,
    /// In Rust, C and Scala.
    pub proofs: [Proof; 3],
}

type See = &'static [(&'static str, &'static str)];

const fn checker(how: &'static str, see: See) -> [Proof; 3] {
    let by = By::Checker;
    [Proof { by, how, see }; 3]
}

const fn nobody(how: &'static str) -> [Proof; 3] {
    let (by, see): (By, See) = (By::Nobody, &[]);
    [Proof { by, how, see }; 3]
}

const fn compiler(how: &'static str, see: See) -> Proof {
    let by = By::Compiler;
    Proof { by, how, see }
}

const fn runtime(how: &'static str, see: See) -> Proof {
    let by = By::Runtime;
    Proof { by, how, see }
}

pub const CLAIMS: [Claim; 21] = [
    Claim {
        id: "one-side-sends",
        about: About::Turns,
        words: "In each state exactly one side may send, so the two sides of a session never wait for each other.",
        proofs: checker(
            "each state has one direction",
            &[("docs/language.md", "## States")],
        ),
    },
    Claim {
        id: "no-dead-wait",
        about: About::Stuck,
        words: "A side never waits for a message that the protocol does not have.",
        proofs: checker(
            "stuck-state",
            &[("docs/rules/stuck-state.md", "stuck-state")],
        ),
    },
    Claim {
        id: "all-states-reached",
        about: About::Reachability,
        words: "A session can reach every state.",
        proofs: checker(
            "unreachable-state",
            &[("docs/rules/unreachable-state.md", "unreachable-state")],
        ),
    },
    Claim {
        id: "sessions-can-end",
        about: About::Ends,
        words: "From every state that is reached, the session can end.",
        proofs: checker(
            "never-ends and cannot-finish",
            &[
                ("docs/rules/never-ends.md", "never-ends"),
                ("docs/rules/cannot-finish.md", "cannot-finish"),
                (
                    "tests/suite/relations/judge.rs",
                    "verdicts_on_random_protocols",
                ),
            ],
        ),
    },
    Claim {
        id: "bounded-in-flight",
        about: About::Capacity,
        words: "The number of messages in flight is bounded.",
        proofs: checker(
            "the capacity theorem",
            &[
                ("docs/runtime.md", "## The capacity theorem"),
                ("tests/suite/relations/judge.rs", "spin_verifies_the_models"),
            ],
        ),
    },
    Claim {
        id: "sends-do-not-wait",
        about: About::Waiting,
        words: "Within a process, a send never waits for a free slot.",
        proofs: checker(
            "the ring has a slot for each message of a run",
            &[("docs/runtime.md", "## The capacity theorem")],
        ),
    },
    Claim {
        id: "right-message",
        about: About::All,
        words: "A side sends only messages of the state it is in, and only when it is its turn.",
        proofs: [
            compiler(
                "an error",
                &[
                    ("tests/misuse/rust/wrong_message.rs", ""),
                    ("tests/misuse/rust/wrong_state.rs", ""),
                    ("tests/misuse/rust/wrong_side.rs", ""),
                ],
            ),
            compiler(
                "an error",
                &[
                    ("tests/misuse/c/wrong_message.c", ""),
                    ("tests/misuse/c/wrong_state.c", ""),
                    ("tests/misuse/c/wrong_side.c", ""),
                ],
            ),
            compiler(
                "an error",
                &[
                    ("tests/misuse/scala/wrong_message.scala", ""),
                    ("tests/misuse/scala/wrong_state.scala", ""),
                    ("tests/misuse/scala/wrong_side.scala", ""),
                ],
            ),
        ],
    },
    Claim {
        id: "right-payload",
        about: About::All,
        words: "A payload has the types that the protocol gives it.",
        proofs: [
            compiler("an error", &[("tests/misuse/rust/wrong_payload.rs", "")]),
            runtime(
                "the types are the compiler's; text that is not UTF-8 and tags that an enum does not have are refused as `DUO_INVALID`",
                &[("tests/processes/sound.c", "in_one_process")],
            ),
            compiler(
                "an error",
                &[("tests/misuse/scala/wrong_payload.scala", "")],
            ),
        ],
    },
    Claim {
        id: "every-message-handled",
        about: About::All,
        words: "A receiver handles every message that may come.",
        proofs: [
            compiler("an error", &[("tests/misuse/rust/forgotten_arm.rs", "")]),
            compiler("a warning", &[("tests/misuse/c/forgotten_arm.c", "")]),
            compiler(
                "a warning",
                &[("tests/misuse/scala/forgotten_message.scala", "")],
            ),
        ],
    },
    Claim {
        id: "endpoints-used-once",
        about: About::All,
        words: "An endpoint is used once.",
        proofs: [
            compiler("an error", &[("tests/misuse/rust/second_use.rs", "")]),
            runtime(
                "`DUO_USED`, unless two threads use copies at the same moment; with `-DDUO_CHECKED` then too",
                &[("runtime/c/tests/used.c", "stale_copies")],
            ),
            runtime(
                "throws `EndpointUsed`",
                &[(
                    "runtime/scala/src/test/scala/duologue/SessionSuite.scala",
                    "the second use throws, whatever it is",
                )],
            ),
        ],
    },
    Claim {
        id: "forgotten-endpoints-close",
        about: About::All,
        words: "A side that forgets its endpoint closes the session, so its peer does not wait forever.",
        proofs: [
            runtime(
                "when it is dropped",
                &[(
                    "runtime/rust/tests/sessions/closing.rs",
                    "unwinding_closes_like_dropping",
                )],
            ),
            Proof {
                by: By::Nobody,
                how: "the program calls `_close`, or declares the endpoint with `DUO_AUTO`; LeakSanitizer reports what was forgotten",
                see: &[
                    (
                        "docs/targets/c-reference.md",
                        "### Forgotten endpoints and freed messages",
                    ),
                    ("tests/misuse/c/left_scope.c", "forgets"),
                ],
            },
            runtime(
                "after garbage collection; `Using` and `abandon` do it at once",
                &[(
                    "runtime/scala/src/test/scala/duologue/LateSuite.scala",
                    "a forgotten endpoint closes its session after garbage collection",
                )],
            ),
        ],
    },
    Claim {
        id: "peer-left-is-reported",
        about: About::All,
        words: "If the peer disconnects, the other side is notified and does not wait.",
        proofs: [
            runtime(
                "`Closed` or `SendError`",
                &[(
                    "runtime/rust/tests/sessions/closing.rs",
                    "a_payload_comes_back_when_the_peer_is_gone",
                )],
            ),
            runtime(
                "`DUO_CLOSED`",
                &[
                    ("runtime/c/tests/close.c", "leaving_wakes"),
                    ("runtime/c/tests/close.c", "sending_to_nobody"),
                ],
            ),
            runtime(
                "`SessionClosed`",
                &[(
                    "runtime/scala/src/test/scala/duologue/ClosedSuite.scala",
                    "each form says that the peer has closed the session",
                )],
            ),
        ],
    },
    Claim {
        id: "unread-messages-destroyed",
        about: About::All,
        words: "Messages that are not read are destroyed once, and endpoints in them are closed.",
        proofs: [
            runtime(
                "",
                &[(
                    "runtime/rust/tests/sessions/unread.rs",
                    "endpoints_inside_messages_close_in_turn",
                )],
            ),
            runtime("", &[("runtime/c/tests/unread.c", "many_inside_one")]),
            runtime(
                "",
                &[(
                    "runtime/scala/src/test/scala/duologue/TravelSuite.scala",
                    "endpoints inside unread messages leave their sessions",
                )],
            ),
        ],
    },
    Claim {
        id: "same-protocol",
        about: About::Fingerprint,
        words: "Between processes, both sides use the same protocol.",
        proofs: [
            runtime(
                "a peer with another fingerprint is refused",
                &[
                    ("docs/wire.md", "## Fingerprints"),
                    (
                        "tests/conversations/tests/remote_waits.rs",
                        "hellos_are_refused_as_the_format_says",
                    ),
                ],
            ),
            runtime(
                "a peer with another fingerprint is refused",
                &[
                    ("docs/wire.md", "## Fingerprints"),
                    ("tests/suite/remote/mod.rs", "check_pair"),
                ],
            ),
            runtime(
                "a peer with another fingerprint is refused",
                &[
                    ("docs/wire.md", "## Fingerprints"),
                    (
                        "runtime/scala/net/src/test/scala/duologue/net/ObserverSuite.scala",
                        "sessions that do not begin are reported by both sides",
                    ),
                ],
            ),
        ],
    },
    Claim {
        id: "malformed-bytes-refused",
        about: About::Fingerprint,
        words: "Bytes of a peer that do not follow the format end the session, and do no harm.",
        proofs: [
            runtime(
                "",
                &[
                    (
                        "tests/conversations/tests/shm/attacks.rs",
                        "garbage_at_rest",
                    ),
                    (
                        "tests/conversations/tests/remote_hostile.rs",
                        "peers_that_take_more_than_their_share",
                    ),
                ],
            ),
            runtime(
                "",
                &[
                    ("tests/processes/garbage.c", "at_rest"),
                    ("tests/remote/attacks.c", "cut"),
                ],
            ),
            runtime(
                "",
                &[(
                    "runtime/scala/net/src/test/scala/duologue/net/StreamsSuite.scala",
                    "a server whose session is cut after any byte reports that it is lost",
                )],
            ),
        ],
    },
    Claim {
        id: "size-limits",
        about: About::SizeLimits,
        words: "Between processes, a payload that is larger than the protocol allows is neither sent nor received.",
        proofs: [
            runtime(
                "within a process nothing checks it",
                &[(
                    "tests/conversations/tests/limited/mod.rs",
                    "a_reader_refuses_what_is_beyond_a_limit",
                )],
            ),
            runtime(
                "within a process nothing checks it",
                &[("tests/remote/limits.c", "receivers")],
            ),
            runtime(
                "within a process nothing checks it",
                &[(
                    "runtime/scala/net/src/test/scala/duologue/net/LimitsSuite.scala",
                    "a message beyond its limit is refused before it has arrived",
                )],
            ),
        ],
    },
    Claim {
        id: "time-limits",
        about: About::TimeLimits,
        words: "Over sockets, a peer that has not sent its message in time is late, and the session ends.",
        proofs: [
            runtime(
                "within a process there are no time limits",
                &[(
                    "tests/conversations/tests/within.rs",
                    "a_peer_that_does_not_send_in_time_is_late",
                )],
            ),
            runtime(
                "within a process there are no time limits",
                &[("tests/remote/within.c", "waiting")],
            ),
            runtime(
                "within a process there are no time limits",
                &[(
                    "runtime/scala/net/src/test/scala/duologue/net/WithinSuite.scala",
                    "a peer that does not send in time is late",
                )],
            ),
        ],
    },
    Claim {
        id: "old-versions",
        about: About::All,
        words: "Programs of an older version of the protocol can communicate with new ones.",
        proofs: nobody("run `duologue breaking --against`, which compares with the older version"),
    },
    Claim {
        id: "no-circles-of-sessions",
        about: About::All,
        words: "Several sessions do not wait for each other in a cycle.",
        proofs: nobody(
            "a program that receives from one session before it sends in another can block itself",
        ),
    },
    Claim {
        id: "an-answer-comes",
        about: About::All,
        words: "The side whose turn it is sends something.",
        proofs: nobody(
            "receive with a time limit where that matters; over sockets, `#[within(...)]`",
        ),
    },
    Claim {
        id: "values-are-right",
        about: About::All,
        words: "Values and choices are right: money is what was withdrawn.",
        proofs: nobody("protocols describe the order and types of messages, not what they mean"),
    },
];
