//! The programs of the 2012 tutorial, in the spelling of today's Rust.
// The names are the tutorial's.
#![allow(clippy::disallowed_names)]

use conversations::of_2012::{bar, foo};
use conversations::protocols::simple_proto;
use duologue::{Closed, select, spawn_service};

/// The server counts hellos until it receives a goodbye, and returns how many there were.
fn server(mut channel: simple_proto::server::SayHello) -> Result<u32, Closed> {
    let mut hellos = 0;
    loop {
        match channel.recv()? {
            simple_proto::SayHello::SayHello(next) => {
                hellos += 1;
                channel = next;
            }
            simple_proto::SayHello::GoodBye => return Ok(hellos),
        }
    }
}

fn client(channel: simple_proto::client::SayHello) -> Result<(), Closed> {
    let channel = channel.say_hello()?;
    let channel = channel.say_hello()?;
    Ok(channel.good_bye()?)
}

#[test]
fn simple_proto() -> Result<(), Closed> {
    let (channel, serving) = spawn_service(simple_proto::init, server);
    client(channel)?;
    assert_eq!(serving.join().expect("the server does not panic")?, 2);
    Ok(())
}

/// The tutorial's `select!`: whatever comes first on either of two endpoints.
fn test(mut foo: foo::client::Foo, mut bar: bar::client::Bar) -> String {
    select! {
        foo => {
            foo::Foo::DoFoo -> _next { "foo".to_owned() }
            closed(why) => why.to_string(),
        }
        bar => {
            bar::Bar::DoBar(x) -> next {
                drop(next.rebarbar());
                x.to_string()
            }
            bar::Bar::DoBaz(b) { if b { "true".to_owned() } else { "false".to_owned() } }
            closed(why) => why.to_string(),
        }
    }
}

#[test]
fn select_hears_foo_or_bar() -> Result<(), Closed> {
    let (server, client) = foo::init();
    let _server = server.do_foo()?;
    let (_silent, bar) = bar::init();
    assert_eq!(test(client, bar), "foo");

    let (server, client) = bar::init();
    let answer = server.do_bar(7)?;
    let (_silent, foo) = foo::init();
    assert_eq!(test(foo, client), "7");
    assert!(matches!(answer.recv()?, bar::Barbar::Rebarbar));

    let (server, client) = bar::init();
    server.do_baz(true)?;
    let (_silent, foo) = foo::init();
    assert_eq!(test(foo, client), "true");

    let (_, client) = bar::init();
    let (_silent, foo) = foo::init();
    assert_eq!(
        test(foo, client),
        "the peer closed the session in state `bar.bar`"
    );
    Ok(())
}

#[test]
fn neither_is_starved() -> Result<(), Closed> {
    const ROUNDS: usize = 200;
    let mut heard = [0_usize; 2];
    for _ in 0..ROUNDS {
        let ((foos, foo), (bars, bar)) = (foo::init(), bar::init());
        let _foos = foos.do_foo()?;
        let _answer = bars.do_bar(1)?;
        let was_bar = test(foo, bar) == "1";
        heard[usize::from(was_bar)] += 1;
    }
    assert!(heard[0].abs_diff(heard[1]) <= 8, "{heard:?}");
    Ok(())
}
