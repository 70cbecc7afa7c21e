//! Connections over TLS 1.3, by `docs/wire.md`: both sides present a certificate.

use crate::socket::{Credentials, Socket};
use duologue_project::Failure;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, RootCertStore, ServerConfig,
    ServerConnection, SideData, StreamOwned,
};
use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::ops::DerefMut;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name under which TLS negotiates the format.
const ALPN: &[u8] = b"duologue/1";

/// The certificates of this side, and what the other's must be.
pub struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// For a connection with the host of this place.
    pub fn new(place: &str, credentials: &Credentials) -> Result<Tls, Failure> {
        let (Some(authorities), Some(certificate), Some(key)) = (
            &credentials.authorities,
            &credentials.certificate,
            &credentials.key,
        ) else {
            bail_usage!(
                "both sides of TLS present a certificate: `tls://` needs `--authorities`, `--certificate` and `--key`"
            );
        };
        let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
        let host = host.strip_prefix('[').unwrap_or(host);
        let host = host.strip_suffix(']').unwrap_or(host);
        let name = credentials.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| usage!("`{name}` cannot be the name of a certificate"))?;
        let mut roots = RootCertStore::empty();
        for root in certificates(authorities)? {
            roots
                .add(root)
                .map_err(|error| wrong(authorities, &error))?;
        }
        let roots = Arc::new(roots);
        let own = certificates(certificate)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| wrong(key, &error))?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(own.clone(), secret.clone_key());
        let mut client = client.map_err(|error| wrong(key, &error))?;
        client.alpn_protocols = vec![ALPN.to_owned()];
        client.resumption = Resumption::disabled();
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let verifier = verifier
            .build()
            .map_err(|error| wrong(authorities, &error))?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| wrong(key, &error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(own, secret);
        let mut server = server.map_err(|error| wrong(key, &error))?;
        server.alpn_protocols = vec![ALPN.to_owned()];
        server.send_tls13_tickets = 0;
        Ok(Tls {
            client: Arc::new(client),
            server: Arc::new(server),
            name,
        })
    }
}

fn wrong(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    environment!("`{}`: {problem}", path.display())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.map_err(|error| wrong(path, &error))?;
    match all.is_empty() {
        true => Err(wrong(path, &"there is no certificate in it")),
        false => Ok(all),
    }
}

/// Begins TLS on a connection that this side has opened.
pub fn connect(tls: &Tls, socket: TcpStream, deadline: Instant) -> io::Result<Box<dyn Socket>> {
    let connection = ClientConnection::new(Arc::clone(&tls.client), tls.name.clone());
    let connection = connection.map_err(io::Error::other)?;
    Ok(Box::new(begin(connection, socket, deadline)?))
}

/// Begins TLS on a connection that this side has accepted.
pub fn accept(tls: &Tls, socket: TcpStream, deadline: Instant) -> io::Result<Box<dyn Socket>> {
    let connection = ServerConnection::new(Arc::clone(&tls.server)).map_err(io::Error::other)?;
    Ok(Box::new(begin(connection, socket, deadline)?))
}

fn begin<C, S>(
    mut connection: C,
    mut socket: TcpStream,
    deadline: Instant,
) -> io::Result<StreamOwned<C, TcpStream>>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    while connection.is_handshaking() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_timeout(left)?;
        connection.complete_io(&mut socket)?;
    }
    if connection.alpn_protocol() != Some(ALPN) {
        return Err(io::Error::other("the protocol was not negotiated"));
    }
    Ok(StreamOwned::new(connection, socket))
}

/// Of TLS, an end without `close_notify` is an error of the kind `UnexpectedEof`.
impl<C, S> Socket for StreamOwned<C, TcpStream>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.sock.set_timeout(timeout)
    }

    fn end(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()?;
        self.sock.shutdown(Shutdown::Write)
    }
}
