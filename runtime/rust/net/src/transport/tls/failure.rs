//! Descriptions of what can go wrong in TLS.
// Errors that are not listed here are described in the library's words.
#![allow(clippy::wildcard_enum_match_arm)]

use rustls::{AlertDescription, CertificateError, Error as TlsError, PeerIncompatible};

use crate::Error;

/// The error of a session that did not begin because of this.
pub(super) fn of(error: &TlsError) -> Error {
    let text = match error {
        TlsError::InvalidCertificate(problem) => return wrong_certificate(problem),
        TlsError::NoCertificatesPresented => {
            "the other side presented no certificate: it has none, or none of an authority that this side trusts; give it one, with its key"
        }
        TlsError::AlertReceived(alert) => return alerted(*alert),
        TlsError::PeerIncompatible(
            PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled,
        ) => "the other side does not support TLS 1.3",
        TlsError::InvalidMessage(_) => {
            "the other side does not speak TLS: use a `tls://` address on both sides or on neither"
        }
        TlsError::NoApplicationProtocol => NO_PROTOCOL,
        other => return failed(&other.to_string()),
    };
    failed(text)
}

pub(super) const NO_PROTOCOL: &str =
    "the other side speaks TLS, but did not negotiate `duologue/1`: check that it is a Duologue program";

pub(super) fn failed(cause: &str) -> Error {
    Error::Tls {
        cause: cause.to_owned(),
    }
}

fn wrong_certificate(problem: &CertificateError) -> Error {
    let text = match problem {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the certificate of the other side was not issued by an authority that this side trusts"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate of the other side has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate of the other side is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the certificate of the other side is not for the expected name"
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the certificate of the other side is not for this purpose"
        }
        other => {
            return failed(&format!(
                "the certificate of the other side is not accepted: {other}"
            ))
        }
    };
    failed(text)
}

/// The other side reports a failure.
fn alerted(alert: AlertDescription) -> Error {
    let text = match alert {
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "the other side requires a certificate from this side"
        }
        AlertDescription::UnknownCA => {
            "the other side does not trust the authority that issued the certificate of this side"
        }
        AlertDescription::CertificateExpired => {
            "the other side reports that the certificate of this side has expired"
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError => {
            "the other side does not accept the certificate of this side"
        }
        AlertDescription::ProtocolVersion => "the other side does not support TLS 1.3",
        AlertDescription::NoApplicationProtocol => NO_PROTOCOL,
        other => return failed(&format!("the other side reports {other:?}")),
    };
    failed(text)
}
