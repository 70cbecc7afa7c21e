//! A NATS server for tests and measurements.

use crate::memory::until;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// A NATS server on a free port of this machine, with a folder of its own. It is killed when this is dropped.
pub struct Server {
    folder: PathBuf,
    child: Child,
    /// Where it listens, as `host:port`.
    pub address: String,
}

impl Server {
    /// Starts it with this configuration, and these variables of the environment.
    pub fn start(config: &str, variables: &[(&str, &str)]) -> Server {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, SeqCst);
        let folder = format!("duologue-server-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("the folder can be written");
        let file = folder.join("config");
        std::fs::write(&file, config).expect("the folder can be written");
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"]);
        command.arg(&folder).arg("--config").arg(&file);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        let child = command.spawn();
        let child = child.expect("nats-server is missing: apt-get install nats-server");
        let mut server = Server {
            folder,
            child,
            address: String::new(),
        };
        // The file appears when the server listens.
        until("the NATS server's port", || {
            let ended = server.child.try_wait().expect("it was started");
            assert!(ended.is_none(), "nats-server rejects this:\n{config}");
            let entries = std::fs::read_dir(&server.folder).expect("it is there");
            let mut found = entries.flatten().filter_map(|entry| {
                let text = std::fs::read_to_string(entry.path()).ok()?;
                let (_, rest) = text.split_once("nats://127.0.0.1:")?;
                rest.split('"').next()?.parse::<u16>().ok()
            });
            if let Some(port) = found.next() {
                server.address = format!("127.0.0.1:{port}");
            }
            !server.address.is_empty()
        });
        server
    }
}

impl Server {
    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}
