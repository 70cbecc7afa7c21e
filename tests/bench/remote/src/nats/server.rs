//! A NATS server on a free port of loopback.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{fs, thread};

static ADDRESS: OnceLock<String> = OnceLock::new();

/// Where the server is, `host:port`.
pub fn address() -> &'static str {
    ADDRESS.get().expect("the server is started first")
}

/// The server, with a folder of its own. It is killed when this is dropped.
pub struct Server {
    folder: PathBuf,
    child: Child,
}

impl Server {
    /// Starts the only server of this process, and waits until it listens.
    pub fn start() -> Server {
        let folder = format!("duologue-bench-nats-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).expect("the folder can be written");
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"]);
        command.arg(&folder).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn();
        let child = child.expect("nats-server is missing: apt-get install nats-server");
        let server = Server { folder, child };
        let deadline = Instant::now() + Duration::from_secs(30);
        let port = loop {
            if let Some(port) = server.port() {
                break port;
            }
            assert!(Instant::now() < deadline, "nats-server does not listen");
            thread::sleep(Duration::from_millis(10));
        };
        let _first = ADDRESS.set(format!("127.0.0.1:{port}"));
        server
    }

    /// The port, which the server writes into a file when it listens.
    fn port(&self) -> Option<u16> {
        let entries = fs::read_dir(&self.folder).ok()?;
        entries.flatten().find_map(|entry| {
            let text = fs::read_to_string(entry.path()).ok()?;
            let (_, rest) = text.split_once("nats://127.0.0.1:")?;
            rest.split('"').next()?.parse().ok()
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
        let _gone = fs::remove_dir_all(&self.folder);
    }
}
