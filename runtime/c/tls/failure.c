/* Descriptions of what can go wrong in TLS. */
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "tls.h"

#define NO_VERSION "the other side does not support TLS 1.3"
#define NO_PROTOCOL \
    "the other side speaks TLS, but did not negotiate `duologue/1`: check that it is a Duologue program"

static void fail(duo_problem *problem, const char *text)
{
    duo_net_explain(problem, "TLS did not begin: %s", text);
}

void duo_tls_needs_protocol(duo_problem *problem)
{
    fail(problem, NO_PROTOCOL);
}

static void describe_certificate(long result, duo_problem *problem)
{
    switch (result) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        fail(problem, "the certificate of the other side was not issued by an authority that this side trusts");
        return;
    case X509_V_ERR_CERT_HAS_EXPIRED: fail(problem, "the certificate of the other side has expired"); return;
    case X509_V_ERR_CERT_NOT_YET_VALID: fail(problem, "the certificate of the other side is not valid yet"); return;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        fail(problem, "the certificate of the other side is not for the expected name");
        return;
    case X509_V_ERR_INVALID_PURPOSE: fail(problem, "the certificate of the other side is not for this purpose"); return;
    default:
        duo_net_explain(problem, "TLS did not begin: the certificate of the other side is not accepted: %s",
                        X509_verify_cert_error_string(result));
    }
}

/* The other side reports a failure. */
static void describe_alert(int alert, duo_problem *problem)
{
    switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_NO_CERTIFICATE: fail(problem, "the other side requires a certificate from this side"); return;
    case SSL_AD_UNKNOWN_CA:
        fail(problem, "the other side does not trust the authority that issued the certificate of this side");
        return;
    case SSL_AD_CERTIFICATE_EXPIRED:
        fail(problem, "the other side reports that the certificate of this side has expired");
        return;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_DECRYPT_ERROR: fail(problem, "the other side does not accept the certificate of this side"); return;
    case SSL_AD_PROTOCOL_VERSION: fail(problem, NO_VERSION); return;
    case SSL_AD_NO_APPLICATION_PROTOCOL: fail(problem, NO_PROTOCOL); return;
    default:
        duo_net_explain(problem, "TLS did not begin: the other side reports: %s", SSL_alert_desc_string_long(alert));
    }
}

void duo_tls_describe(const duo_tls_state *state, duo_problem *problem)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    long verified = SSL_get_verify_result(state->ssl);
    switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED: describe_certificate(verified, problem); return;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        fail(problem, "the other side presented no certificate: it has none, or none of an authority that this side trusts; give it one, with its key");
        return;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION: fail(problem, NO_VERSION); return;
    /* No other callback fails. */
    case SSL_R_CALLBACK_FAILED:
    case SSL_R_NO_APPLICATION_PROTOCOL: fail(problem, NO_PROTOCOL); return;
    default: break;
    }
    if (reason > SSL_AD_REASON_OFFSET) {
        describe_alert(reason - SSL_AD_REASON_OFFSET, problem);
        return;
    }
    const char *text = ERR_reason_error_string(error);
    fail(problem, text != NULL ? text : "unknown error");
}
