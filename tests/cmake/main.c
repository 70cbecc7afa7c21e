/* Both sides of a session in one thread: the temperature that is set is the one that is read. */
#include <stdio.h>

#include "thermostat.h"

static duo_status talk(thermostat_server_idle_t server, thermostat_client_idle_t client)
{
    thermostat_client_reading_t waiting;
    duo_status status = thermostat_client_idle_send_keep(client, 21, &client);
    if (status == DUO_OK) status = thermostat_client_idle_send_read(client, &waiting);
    if (status != DUO_OK) return status;

    thermostat_idle_t said;
    status = thermostat_server_idle_recv(server, &said);
    if (status != DUO_OK || said.tag != THERMOSTAT_IDLE_KEEP) return status;
    celsius_t kept = said.as.keep.celsius;
    status = thermostat_server_idle_recv(said.as.keep.next, &said);
    if (status != DUO_OK || said.tag != THERMOSTAT_IDLE_READ) return status;
    status = thermostat_server_reading_send_temperature(said.as.read.next, kept, &server);
    if (status != DUO_OK) return status;

    thermostat_reading_t answer;
    status = thermostat_client_reading_recv(waiting, &answer);
    if (status != DUO_OK) return status;
    printf("%d degrees, in %zu bytes\n", (int)answer.as.temperature.celsius, sizeof(celsius_t));
    status = thermostat_client_idle_send_off(answer.as.temperature.next);
    if (status != DUO_OK) return status;
    return thermostat_server_idle_recv(server, &said);
}

int main(void)
{
    thermostat_server_idle_t server = {0};
    thermostat_client_idle_t client = {0};
    duo_status status = thermostat_init(&server, &client);
    if (status == DUO_OK) status = talk(server, client);
    if (status != DUO_OK) printf("%s\n", duo_status_text(status));
    return status == DUO_OK ? 0 : 1;
}
