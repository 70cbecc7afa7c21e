//! Certificates for the tests of TLS, in every language: PEM files in a folder.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, Error, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The names of the servers that are where they say.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Writes the files: `ca.pem` and `other-ca.pem`, two authorities; and for each party a certificate (`.pem`) and its key
/// (`.key`). `server` and `client` are as they should be. Those of `expired-` have expired, `elsewhere-server` has another name than the
/// host's, `named-client` has names, and `stranger-` are issued by the other authority.
pub fn write(folder: &Path) {
    fs::create_dir_all(folder).expect("the folder can be created");
    write_all(folder).expect("keys can be made");
}

fn write_all(folder: &Path) -> Result<(), Error> {
    let authority = authority(folder, "ca")?;
    let other = self::authority(folder, "other-ca")?;
    let party = |name, names: &[&str], issuer| party(folder, name, names, issuer);
    party("server", &HERE, &authority)?;
    party("client", &[], &authority)?;
    party("named-client", &["client.example", "127.0.0.1"], &authority)?;
    party("expired-server", &HERE, &authority)?;
    party("expired-client", &[], &authority)?;
    party("elsewhere-server", &["elsewhere.example"], &authority)?;
    party("stranger-server", &HERE, &other)?;
    party("stranger-client", &[], &other)
}

fn put(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join(file), text).expect("the folder can be written");
}

fn authority(folder: &Path, name: &str) -> Result<Issuer<'static, KeyPair>, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    put(
        folder,
        &format!("{name}.pem"),
        &params.self_signed(&key)?.pem(),
    );
    Ok(Issuer::new(params, key))
}

fn party(
    folder: &Path,
    name: &str,
    names: &[&str],
    issuer: &Issuer<'static, KeyPair>,
) -> Result<(), Error> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![if name.ends_with("server") {
        ExtendedKeyUsagePurpose::ServerAuth
    } else {
        ExtendedKeyUsagePurpose::ClientAuth
    }];
    if name.starts_with("expired") {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    }
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    put(folder, &format!("{name}.pem"), &certificate.pem());
    put(folder, &format!("{name}.key"), &key.serialize_pem());
    Ok(())
}

/// A folder of certificates that is removed when this is dropped.
#[derive(Debug)]
pub struct Certificates(PathBuf);

impl Certificates {
    /// New certificates.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Certificates {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("duologue-{}-certificates-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        write(&folder);
        Certificates(folder)
    }

    /// One of the files.
    pub fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// What a party has that trusts this authority.
    pub fn tls(&self, authority: &str, party: &str) -> duologue_net::Tls {
        tls(&self.0, authority, party)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // A folder that cannot be removed has nobody to report to.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a party has that trusts this authority, from a folder of certificates.
pub fn tls(folder: &Path, authority: &str, party: &str) -> duologue_net::Tls {
    let file = |name: &str, kind: &str| folder.join(format!("{name}.{kind}"));
    let tls = duologue_net::Tls::from_files(
        file(authority, "pem"),
        file(party, "pem"),
        file(party, "key"),
    );
    tls.expect("the files are certificates")
}
