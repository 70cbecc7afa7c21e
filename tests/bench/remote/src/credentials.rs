//! Certificates for the sessions over TLS, and for the same bytes over TLS without sessions.

use duologue_net::Tls;
use rcgen::{BasicConstraints, CertificateParams, Error, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring};
use std::sync::{Arc, OnceLock};

/// One certificate, for both sides.
pub struct Credentials {
    pub tls: Tls,
    pub client: Arc<ClientConfig>,
    pub server: Arc<ServerConfig>,
}

/// The host for which the certificate is.
pub const HOST: &str = "127.0.0.1";

/// The credentials of this run.
pub fn credentials() -> &'static Credentials {
    static CREDENTIALS: OnceLock<Credentials> = OnceLock::new();
    CREDENTIALS.get_or_init(|| {
        let [authority, certificate, key] = issue().expect("keys can be made");
        let tls = Tls::from_pem(authority.as_bytes(), certificate.as_bytes(), key.as_bytes());
        let (client, server) = configure(&authority, &certificate, &key);
        Credentials {
            tls: tls.expect("the texts are PEM"),
            client,
            server,
        }
    })
}

/// An authority, a certificate that it has issued, and the key of that.
fn issue() -> Result<[String; 3], Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![HOST.to_owned()])?.signed_by(&key, &issuer)?;
    Ok([authority, certificate.pem(), key.serialize_pem()])
}

/// The same as what `duologue-net` makes of these texts: TLS 1.3, and both sides authenticate.
fn configure(
    authority: &str,
    certificate: &str,
    key: &str,
) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    const PEM: &str = "the texts are PEM";
    let of = |text: &str| CertificateDer::from_pem_slice(text.as_bytes()).expect(PEM);
    let key = || PrivateKeyDer::from_pem_slice(key.as_bytes()).expect(PEM);
    let mut roots = RootCertStore::empty();
    roots.add(of(authority)).expect("it is an authority");
    let (roots, chain) = (Arc::new(roots), vec![of(certificate)]);
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
    let verifier = verifier.build().expect("there is an authority");
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has TLS 1.3")
        .with_root_certificates(roots)
        .with_client_auth_cert(chain.clone(), key())
        .expect("the key is that of the certificate");
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has TLS 1.3")
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key())
        .expect("the key is that of the certificate");
    (Arc::new(client), Arc::new(server))
}
