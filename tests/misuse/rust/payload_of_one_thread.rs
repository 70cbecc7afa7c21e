// A payload may have to move to another thread.
//~ error[E0277]: `Rc<u8>` cannot be sent between threads safely
//~ required by this bound in `init`
use protocols::stream;

fn main() {
    let (server, client) = stream::init::<std::rc::Rc<u8>>();
}
