// Only what was generated with `--remote` can leave its process.
//~ error[E0277]: sessions that begin with `stream::client::Stream<u8>` stay within one process
//~ generate with `duologue gen --remote`
use protocols::stream;

fn connect<O: duologue::transport::Open>() {}

fn main() {
    connect::<stream::client::Stream<u8>>();
}
