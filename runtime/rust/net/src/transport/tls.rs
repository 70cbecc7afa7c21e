//! TLS: which certificates a side has, and which it trusts.

mod failure;
mod stream;

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::{verify_server_name, Resumption};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};

use crate::transport::stream::{Socket, Stream};
use crate::Error;
use stream::TlsStream;

/// The name under which TLS negotiates this format.
const ALPN: &[u8] = b"duologue/1";

/// How long a listener waits after a failed handshake, so that the peer can read why it failed.
const APOLOGY: Duration = Duration::from_millis(500);

/// The certificates of one side, for addresses `tls://host:port`. Both sides authenticate: each has a certificate, and
/// trusts certificates that were issued by the authorities on its list.
///
/// ```no_run
/// # fn show<Login: duologue_net::Open>() -> Result<(), duologue_net::Error> {
/// let tls = duologue_net::Tls::from_files("ca.pem", "client.pem", "client.key")?;
/// let login: Login = duologue_net::Connector::new().tls(tls).connect("tls://bank.example:7000")?;
/// # drop(login);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: Option<ServerName<'static>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// What is wrong with a PEM text.
fn wrong(what: &str, problem: impl fmt::Display) -> Error {
    Error::Credentials {
        what: what.to_owned(),
        problem: problem.to_string(),
    }
}

/// See [`Peer::has_name`](crate::Peer::has_name).
pub(crate) fn has_name(certificate: Option<&[u8]>, name: &str) -> bool {
    let Some(certificate) = certificate.map(CertificateDer::from) else {
        return false;
    };
    let (Ok(certificate), Ok(name)) = (
        ParsedCertificate::try_from(&certificate),
        ServerName::try_from(name),
    ) else {
        return false;
    };
    verify_server_name(&certificate, &name).is_ok()
}

fn certificates(what: &str, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let all = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, pem::Error>>();
    let all = all.map_err(|error| wrong(what, error))?;
    if all.is_empty() {
        return Err(wrong(what, "there is no certificate in it"));
    }
    Ok(all)
}

impl Tls {
    /// From PEM text: the certificates of the authorities that are trusted, this side's certificate followed by
    /// any intermediate certificates, and its private key.
    ///
    /// # Errors
    /// If a text is malformed or empty, or the key does not belong to the certificate.
    pub fn from_pem(authorities: &[u8], chain: &[u8], key: &[u8]) -> Result<Tls, Error> {
        Tls::of([
            ("the text of the authorities", authorities),
            ("the text of the certificate", chain),
            ("the text of the key", key),
        ])
    }

    /// Like [`from_pem`](Tls::from_pem), from files.
    ///
    /// # Errors
    /// If a file cannot be read; and as for [`from_pem`](Tls::from_pem).
    pub fn from_files(
        authorities: impl AsRef<Path>,
        chain: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Tls, Error> {
        let read = |path: &Path| {
            let name = format!("`{}`", path.display());
            let text = fs::read(path).map_err(Error::io(format!("read {name}")))?;
            Ok::<_, Error>((name, text))
        };
        let all = [
            read(authorities.as_ref())?,
            read(chain.as_ref())?,
            read(key.as_ref())?,
        ];
        Tls::of(
            all.each_ref()
                .map(|(name, text)| (name.as_str(), &text[..])),
        )
    }

    fn of([authorities, chain, key]: [(&str, &[u8]); 3]) -> Result<Tls, Error> {
        let mut roots = RootCertStore::empty();
        for root in certificates(authorities.0, authorities.1)? {
            let added = roots.add(root);
            added.map_err(|error| wrong(authorities.0, error))?;
        }
        let roots = Arc::new(roots);
        let own = certificates(chain.0, chain.1)?;
        let secret = PrivateKeyDer::from_pem_slice(key.1);
        let secret = secret.map_err(|error| wrong(key.0, error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());

        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| wrong(key.0, error))?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(own.clone(), secret.clone_key());
        let mut client = client.map_err(|error| wrong(key.0, error))?;
        client.alpn_protocols = vec![ALPN.to_owned()];
        client.resumption = Resumption::disabled();

        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let verifier = verifier.build();
        let verifier = verifier.map_err(|error| wrong(authorities.0, error))?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| wrong(key.0, error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(own, secret);
        let mut server = server.map_err(|error| wrong(key.0, error))?;
        server.alpn_protocols = vec![ALPN.to_owned()];
        // Sessions are not resumed, so nothing is sent that only a resumption needs.
        server.send_tls13_tickets = 0;
        Ok(Tls {
            client: Arc::new(client),
            server: Arc::new(server),
            name: None,
        })
    }

    /// The name, or the IP address, that a listener's certificate must have. Without it, that is the host of the
    /// address that this side connects to. Listeners do not use it.
    ///
    /// # Errors
    /// If that is not a name that a certificate can have.
    pub fn expect_name(mut self, name: &str) -> Result<Tls, Error> {
        self.name = Some(server_name(name)?);
        Ok(self)
    }

    /// Begins TLS on a connection to this host.
    pub(crate) fn connect(
        &self,
        socket: Socket,
        host: &str,
        deadline: Instant,
    ) -> Result<Box<dyn Stream>, Error> {
        let name = self.name.clone();
        let name = name.map_or_else(|| server_name(host), Ok)?;
        let connection = ClientConnection::new(Arc::clone(&self.client), name);
        let connection = connection.map_err(|error| failure::of(&error))?;
        begin(socket, connection.into(), deadline, Duration::ZERO)
    }

    /// Begins TLS on a connection that a listener has accepted.
    pub(crate) fn accept(
        &self,
        socket: Socket,
        deadline: Instant,
    ) -> Result<Box<dyn Stream>, Error> {
        let connection = ServerConnection::new(Arc::clone(&self.server));
        let connection = connection.map_err(|error| failure::of(&error))?;
        begin(socket, connection.into(), deadline, APOLOGY)
    }
}

/// Begins TLS. If that fails, reads for `apology` before the connection is closed: closing it with unread bytes resets it,
/// which could discard the alert that says why.
fn begin(
    socket: Socket,
    connection: Connection,
    deadline: Instant,
    apology: Duration,
) -> Result<Box<dyn Stream>, Error> {
    let stream = TlsStream::new(socket, connection);
    match stream.handshake(deadline) {
        Ok(()) => Ok(Box::new(stream)),
        Err(error) => {
            stream.abandon();
            stream.read_off(deadline.min(Instant::now() + apology));
            Err(error)
        }
    }
}

fn server_name(host: &str) -> Result<ServerName<'static>, Error> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let name = ServerName::try_from(bare.unwrap_or(host).to_owned());
    name.map_err(|_| wrong(&format!("`{host}`"), "a certificate cannot have this name"))
}

/// Describes why an operation of a stream failed, if that was because of TLS.
pub(crate) fn failure(error: &std::io::Error) -> Option<Error> {
    let source = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(failure::of(source))
}
