use conversations::Transcript;
use conversations::protocols::type_switch::{Start, server};
use duologue::Closed;

pub fn run(mut endpoint: server::Start, transcript: &Transcript) -> Result<(), Closed> {
    let mut maybes = [Some(u64::MAX), None].into_iter();
    loop {
        endpoint = match endpoint.recv()? {
            Start::GetInt(wait) => {
                transcript.line("server <- get_int");
                wait.thing(i64::MIN)?
            }
            Start::GetText(wait) => {
                transcript.line("server <- get_text");
                wait.thing("forty-two".to_owned())?
            }
            Start::GetMaybe(wait) => {
                transcript.line("server <- get_maybe");
                wait.thing(maybes.next().flatten())?
            }
            Start::GetList(wait) => {
                transcript.line("server <- get_list");
                wait.thing(vec![(1, true), (255, false)])?
            }
            Start::Stop => {
                transcript.line("server <- stop");
                return Ok(());
            }
        }
    }
}
