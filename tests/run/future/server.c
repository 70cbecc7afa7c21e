/* The server of the case: it keeps its promise. */
#include "case.h"

duo_status future_case_server(future_text_server_waiting_t waiting, struct transcript *transcript)
{
    (void)transcript;
    duo_str value = DUO_STR("a \"quoted\" word,\na back\\slash");
    return future_text_server_waiting_send_completed(waiting, value);
}
