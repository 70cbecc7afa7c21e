/* What a listener knows about a peer: its certificate, which has been verified. */
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "tls.h"

bool duo_tls_copy_certificate(const duo_net_stream *stream, uint8_t **bytes, size_t *size)
{
    const duo_tls_state *state = stream->state;
    X509 *certificate = SSL_get0_peer_certificate(state->ssl);
    *bytes = NULL;
    *size = 0;
    if (certificate == NULL) return false;
    int length = i2d_X509(certificate, NULL);
    uint8_t *made = length > 0 ? duo_allocate((size_t)length) : NULL;
    if (made == NULL) return false;
    uint8_t *place = made;
    if (i2d_X509(certificate, &place) != length) {
        duo_release(made);
        return false;
    }
    *size = (size_t)length;
    *bytes = made;
    return true;
}

static bool has_uri(X509 *certificate, const char *name)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool is_found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !is_found; i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(names, i);
        if (one->type != GEN_URI) continue;
        const ASN1_IA5STRING *uri = one->d.uniformResourceIdentifier;
        size_t size = (size_t)ASN1_STRING_length(uri);
        is_found = size == strlen(name) && memcmp(ASN1_STRING_get0_data(uri), name, size) == 0;
    }
    GENERAL_NAMES_free(names);
    return is_found;
}

static bool has_name(X509 *certificate, const char *name)
{
    const unsigned flags = X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
    struct in6_addr address;
    if (strstr(name, "://") != NULL) return has_uri(certificate, name);
    if (strchr(name, '@') != NULL) return X509_check_email(certificate, name, 0, flags) == 1;
    if (inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1)
        return X509_check_ip_asc(certificate, name, flags) == 1;
    /* OpenSSL would accept any name below one that begins with a dot. */
    return name[0] != '\0' && name[0] != '.' && X509_check_host(certificate, name, 0, flags, NULL) == 1;
}

bool duo_tls_has_name(const duo_peer *peer, const char *name)
{
    const uint8_t *bytes = peer->certificate.data;
    if (bytes == NULL || peer->certificate.size > LONG_MAX) return false;
    /* The program may not have read its own errors yet. */
    ERR_set_mark();
    X509 *certificate = d2i_X509(NULL, &bytes, (long)peer->certificate.size);
    bool is_found = certificate != NULL && has_name(certificate, name);
    X509_free(certificate);
    ERR_pop_to_mark();
    return is_found;
}
