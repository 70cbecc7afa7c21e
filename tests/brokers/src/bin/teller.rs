//! A bank in a process of its own: `teller ADDRESS`. Prints a line for each session. When its input ends, it drains and prints how
//! many sessions ended as they should. With the variable `DUOLOGUE_DISCOVERABLE` it takes part in service discovery.
#![forbid(unsafe_code)]

use brokers::bank;
use duologue_net::Listener;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("teller ADDRESS")?;
    let mut listener = Listener::bind(&address)?;
    if std::env::var_os("DUOLOGUE_DISCOVERABLE").is_some() {
        listener.discoverable();
    }
    let done = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&done);
    listener.serve(move |login| {
        println!("session");
        if bank::teller(login).is_ok() {
            counted.fetch_add(1, SeqCst);
        }
    });
    let drain = listener.drain();
    thread::spawn(move || {
        let _end = std::io::stdin().read_to_end(&mut Vec::new());
        let _ended = drain.within(Duration::from_secs(60));
    });
    listener.run()?;
    println!("{}", done.load(SeqCst));
    Ok(())
}
