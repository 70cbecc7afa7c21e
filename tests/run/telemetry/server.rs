use conversations::protocols::telemetry::{Report, server};
use conversations::{Transcript, hex, quoted};
use duologue::Closed;

pub fn run(mut endpoint: server::Report, transcript: &Transcript) -> Result<(), Closed> {
    let (mut count, mut last, mut flushes) = (0, None, 0);
    loop {
        count += 1;
        endpoint = match endpoint.recv()? {
            Report::Unsigned(a, b, c, d, next) => {
                transcript.line(format_args!("server <- unsigned({a}, {b}, {c}, {d})"));
                next
            }
            Report::Signed(a, b, c, d, next) => {
                transcript.line(format_args!("server <- signed({a}, {b}, {c}, {d})"));
                next
            }
            Report::Real {
                single,
                double,
                next,
            } => {
                transcript.line(format_args!("server <- real({single:.2}, {double:.2})"));
                last = Some((single < 0.0, double));
                next
            }
            Report::Old(a, b, c, text, next) => {
                let text = quoted(&text);
                transcript.line(format_args!("server <- old({a}, {b}, {c:.2}, {text})"));
                next
            }
            Report::Raw {
                on,
                name,
                data,
                next,
            } => {
                let (name, data) = (quoted(&name), hex(&data));
                transcript.line(format_args!("server <- raw({on}, {name}, {data})"));
                next
            }
            Report::Flush(echo) => {
                transcript.line("server <- flush");
                flushes += 1;
                count -= 1;
                if flushes == 3 {
                    echo.enough()?;
                    return Ok(());
                }
                echo.received(count, last)?
            }
        }
    }
}
