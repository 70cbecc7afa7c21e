/*
 * In place of the library for TLS where the headers of OpenSSL are missing: programs whose sessions need no TLS work all the same, and the
 * others say what to install.
 */
#include "duologue/tls.h"
#include <stdio.h>
#include <stdlib.h>

duo_status duo_tls_new(const duo_tls_options *options, duo_tls **tls, duo_problem *problem)
{
    (void)options, (void)tls, (void)problem;
    fputs("openssl/ssl.h is not installed: apt-get install -y --no-install-recommends libssl-dev\n", stderr);
    exit(1);
}

void duo_tls_free(duo_tls *tls)
{
    (void)tls;
}
