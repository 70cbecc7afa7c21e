/* fails: enumeration value 'BANK_LOGIN_RESPONSE_INVALID' not handled in switch [-Werror=switch] */
/* A switch over the tag names the message that was forgotten, since the tags are exactly the messages. */
#include "bank.h"

duo_status misuse(bank_client_login_response_t waiting);

duo_status misuse(bank_client_login_response_t waiting)
{
    bank_login_response_t answer;
    duo_status status = bank_client_login_response_recv(waiting, &answer);
    if (status != DUO_OK) return status;
    switch (answer.tag) {
    case BANK_LOGIN_RESPONSE_OK: return bank_client_connected_close(answer.as.ok.next);
#ifdef RIGHT
    case BANK_LOGIN_RESPONSE_INVALID: return bank_client_login_close(answer.as.invalid.next);
#endif
    }
    return DUO_OK;
}
