//! Clients that ask a server which of its services can be used, in each pair of languages.

use super::programs::Language;
use super::{Sockets, unix};
use crate::support::running::Running;
use std::time::Duration;

fn check_pair(client: Language, server: Language) {
    let pair = format!("{client:?} client, {server:?} server");
    let sockets = Sockets::new();
    let address = unix(&sockets.path("s"));
    let start = |language: Language, role: &str| {
        Running::start_talking(language.ask().args([role, &address]))
    };
    let mut serving = start(server, "server");
    assert_eq!(serving.line(), format!("listening {address}"), "{pair}");
    let mut asking = start(client, "client");
    let check = |asking: &mut Running, service: &str, status: &str| {
        asking.say(&format!("check {service}"));
        assert_eq!(asking.line(), format!("checked {status}"), "{pair}");
    };
    let set = |serving: &mut Running, service: &str, status: &str| {
        serving.say(&format!("set {service} {status}"));
        assert_eq!(serving.line(), "set", "{pair}");
    };
    check(&mut asking, "-", "serving");
    check(&mut asking, "shop", "unknown");
    set(&mut serving, "shop", "serving");
    check(&mut asking, "shop", "serving");
    set(&mut serving, "-", "not_serving");
    check(&mut asking, "-", "not_serving");

    // A client that watches is woken by each change of its service.
    asking.say("watch shop");
    assert_eq!(asking.line(), "watched serving", "{pair}");
    for status in ["not_serving", "serving", "unknown", "serving"] {
        set(&mut serving, "shop", status);
        assert_eq!(asking.line(), format!("watched {status}"), "{pair}");
        set(&mut serving, "bank", status);
    }

    // A client that watches learns of the drain if it asks within half a second. On a busy machine it may take longer to ask after
    // the last change, so it gets the time to do that before.
    std::thread::sleep(Duration::from_secs(1));

    // And by the drain. Clients that ask later learn that the server drains.
    serving.say("drain");
    assert_eq!(serving.line(), "draining", "{pair}");
    assert_eq!(asking.line(), "watched not_serving", "{pair}");
    assert_eq!(asking.line(), "watched over", "{pair}");
    check(&mut asking, "shop", "not_serving");
    serving.say("end");
    assert_eq!(serving.line(), "drained", "{pair}");
    check(&mut asking, "shop", "failed");
    asking.end_input();
    for outcome in [asking.end(), serving.end()] {
        assert_eq!(outcome.code, Some(0), "{pair}: {outcome:?}");
    }
}

/// One test for each pair of languages.
macro_rules! pairs {
    ($($name:ident: $client:ident, $server:ident;)*) => {$(
        #[test]
        fn $name() {
            check_pair(Language::$client, Language::$server);
        }
    )*};
}

pairs! {
    rust_asks_rust: Rust, Rust;
    rust_asks_c: Rust, C;
    rust_asks_scala: Rust, Scala;
    c_asks_rust: C, Rust;
    c_asks_c: C, C;
    c_asks_scala: C, Scala;
    scala_asks_rust: Scala, Rust;
    scala_asks_c: Scala, C;
    scala_asks_scala: Scala, Scala;
}
