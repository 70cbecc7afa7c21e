//! A customer in a process of its own: `customer ADDRESS TURNS`.
#![forbid(unsafe_code)]

use brokers::bank;
use duologue_net::connect;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("customer ADDRESS TURNS")?;
    let turns = arguments.next().ok_or("customer ADDRESS TURNS")?;
    bank::customer(connect(&address)?, turns.parse()?)?;
    Ok(())
}
