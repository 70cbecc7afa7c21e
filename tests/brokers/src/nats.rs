//! A NATS server of a test.

use crate::memory::until;
use duologue_net::Error;
use duologue_net::broker::{ConnectOptions, Exchange, ExchangeOptions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// A NATS server on a free port, with a folder of its own. It is killed when this is dropped.
pub struct Server {
    folder: PathBuf,
    /// Where it reads what it permits.
    config: Option<PathBuf>,
    variables: Vec<(String, String)>,
    child: Option<Child>,
    port: u16,
}

impl Server {
    /// Starts one.
    pub fn start() -> Server {
        Server::new(None, &[])
    }

    /// Starts one with a configuration, and these variables of the environment.
    pub fn with_variables(config: &str, variables: &[(&str, &str)]) -> Server {
        Server::new(Some(config), variables)
    }

    /// Starts one with a configuration.
    pub fn with(config: &str) -> Server {
        Server::new(Some(config), &[])
    }

    fn new(config: Option<&str>, variables: &[(&str, &str)]) -> Server {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, SeqCst);
        let folder = format!("duologue-nats-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("the folder can be written");
        let config = config.map(|text| {
            let file = folder.join("config");
            std::fs::write(&file, text).expect("the folder can be written");
            file
        });
        let variables = variables.iter();
        let variables = variables.map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let mut server = Server {
            folder,
            config,
            variables: variables.collect(),
            child: None,
            port: 0,
        };
        server.run("-1");
        // The file appears when the server listens.
        let read = |server: &Server| {
            let entries = std::fs::read_dir(&server.folder).expect("it is there");
            entries.flatten().find_map(|entry| {
                let text = std::fs::read_to_string(entry.path()).ok()?;
                let (_, rest) = text.split_once("nats://127.0.0.1:")?;
                rest.split('"').next()?.parse::<u16>().ok()
            })
        };
        until("the NATS server's port", || {
            let child = server.child.as_mut().expect("it was started");
            let ended = child.try_wait().expect("it was started");
            assert!(ended.is_none(), "nats-server rejects its configuration");
            server.port = read(&server).unwrap_or_default();
            server.port != 0
        });
        server
    }

    fn run(&mut self, port: &str) {
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", port, "--ports_file_dir"]);
        command.arg(&self.folder);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn();
        self.child = Some(child.expect("nats-server is missing: apt-get install nats-server"));
    }

    /// Changes its configuration, which it reads when it starts again. It must have one.
    pub fn configure(&self, text: &str) {
        let file = self.config.as_ref().expect("it has a configuration");
        std::fs::write(file, text).expect("the folder can be written");
    }

    /// Kills it.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ended = child.kill();
            let _status = child.wait();
        }
    }

    /// Kills it, and starts it again on the same port.
    pub fn restart(&mut self) {
        self.kill();
        self.run(&self.port.to_string());
        until("the NATS server", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    /// Connects to it.
    pub fn exchange(&self, client: ConnectOptions) -> Result<Exchange, Error> {
        Exchange::nats(&self.host(), client, &ExchangeOptions::new())
    }

    /// The answers to a request of service discovery, as a program gets them that knows only the protocol of NATS and waits for a moment.
    /// `user` is for the command `CONNECT`, without braces.
    pub fn discover(&self, user: &str, subject: &str) -> Vec<String> {
        let mut stream = TcpStream::connect(self.host()).expect("it listens");
        let timeout = Some(Duration::from_millis(400));
        stream.set_read_timeout(timeout).expect("it is open");
        let request = format!(
            "CONNECT {{\"verbose\":false{user}}}\r\nSUB _INBOX.test 1\r\nPUB {subject} _INBOX.test 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
        while let Ok(count) = stream.read(&mut chunk) {
            assert!(count > 0, "the server keeps the connection");
            bytes.extend_from_slice(&chunk[..count]);
        }
        let text = String::from_utf8(bytes).expect("answers are text");
        let lines = text.lines().filter(|line| line.starts_with("{\"type\""));
        lines.map(str::to_owned).collect()
    }

    /// Where it listens, as `host:port`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The number of its process, while it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The port at which it listens on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address with this name.
    pub fn address(&self, name: &str) -> String {
        format!("nats://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}
