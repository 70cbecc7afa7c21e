// Waiting for nothing would never end.
//~ error: `select!` needs an endpoint: nothing else could end the wait
fn main() {
    duologue::select! {}
}
