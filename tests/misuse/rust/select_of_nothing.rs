// Waiting for nothing would never end.
//~ error: `select!` needs an endpoint: without one it would wait forever
fn main() {
    duologue::select! {}
}
