// What follows a message must be one of the runtime's own four types.
//~ error[E0277]: the trait bound `Mine: duologue_runtime::typed::endpoint::follow::Follow` is not satisfied

struct Mine;

impl duologue::generated::Next for Mine {}

fn main() {}
