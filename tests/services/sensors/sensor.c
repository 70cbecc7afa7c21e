/*
 * A simulated sensor: `sensor ADDRESS NAME UNIT` connects to the gateway, registers, and then reads commands from
 * its input:
 *
 *     reading VALUE       sends a reading
 *     late VALUE ...      sends readings that were taken without a connection
 *     poll                asks for instructions, and prints the answer
 *     simulate COUNT      takes that many readings, as often as the settings say, and polls after each one
 *     vanish              exits without leaving, like a sensor that loses power
 *
 * At the end of the input it leaves, unless the gateway has stopped it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "duologue/ready.h"
#include "sensor_net.h"

enum { LINE_SPACE = 1000, MOST_LATE = 100 };

/* How long it waits for an answer, in nanoseconds. */
#define ANSWER UINT64_C(30000000000)

typedef struct simulation {
    /* Zeroed once the session is over. */
    sensor_client_measuring_t session;
    settings_t settings;
    uint64_t at_ms;
} simulation;

static const char *print_settings(char *place, size_t space, settings_t settings)
{
    snprintf(place, space, "every %" PRIu32 " ms, from %g to %g", settings.every_ms, settings.lowest, settings.highest);
    return place;
}

static duo_status send_reading(simulation *own, double value)
{
    const reading_t reading = {own->at_ms++, value};
    return sensor_client_measuring_send_reading(own->session, reading, &own->session);
}

static duo_status send_late(simulation *own, const char *text)
{
    reading_t readings[MOST_LATE];
    size_t count = 0;
    char *rest;
    for (double value = strtod(text, &rest); rest != text && count < MOST_LATE; value = strtod(text, &rest)) {
        readings[count++] = (reading_t){own->at_ms++, value};
        text = rest;
    }
    const duo_list_reading_t late = {readings, count};
    return sensor_client_measuring_send_late(own->session, late, &own->session);
}

/* Asks for instructions; with `is_quiet` it prints only what is new. */
static duo_status poll_gateway(simulation *own, bool is_quiet)
{
    DUO_AUTO(sensor_client_instruction) waiting = {0};
    sensor_instruction_t instruction;
    char text[80];
    duo_status status = sensor_client_measuring_send_poll(own->session, &waiting);
    if (status != DUO_OK) return status;
    status = sensor_client_instruction_recv_within(waiting, ANSWER, &instruction);
    if (status != DUO_OK) return status;
    switch (instruction.tag) {
    case SENSOR_INSTRUCTION_GO_ON: own->session = instruction.as.go_on.next; break;
    case SENSOR_INSTRUCTION_CHANGE:
        own->session = instruction.as.change.next;
        own->settings = instruction.as.change.settings;
        break;
    case SENSOR_INSTRUCTION_STOP: own->session = (sensor_client_measuring_t){{NULL, 0}}; break;
    }
    const bool is_change = instruction.tag == SENSOR_INSTRUCTION_CHANGE;
    if (is_quiet && instruction.tag == SENSOR_INSTRUCTION_GO_ON) return DUO_OK;
    printf("%s%s%s\n", sensor_instruction_tag_text(instruction.tag), is_change ? ": " : "",
           is_change ? print_settings(text, sizeof text, own->settings) : "");
    return DUO_OK;
}

/* A sawtooth that exceeds its upper bound once in every twenty readings. */
static duo_status simulate(simulation *own, unsigned long count)
{
    duo_status status = DUO_OK;
    for (unsigned long i = 0; i < count && status == DUO_OK && own->session.sends.session != NULL; i++) {
        const double height = own->settings.highest - own->settings.lowest;
        status = send_reading(own, own->settings.lowest + height * (double)(i % 20 + 1) / 19.5);
        if (status == DUO_OK) status = poll_gateway(own, true);
        const uint64_t pause = (uint64_t)own->settings.every_ms * 1000000;
        nanosleep(&(struct timespec){(time_t)(pause / 1000000000), (long)(pause % 1000000000)}, NULL);
    }
    printf("simulated\n");
    return status;
}

static duo_status obey(simulation *own, const char *line)
{
    if (strncmp(line, "reading ", 8) == 0) return send_reading(own, strtod(line + 8, NULL));
    if (strncmp(line, "late ", 5) == 0) return send_late(own, line + 5);
    if (strncmp(line, "simulate ", 9) == 0) return simulate(own, strtoul(line + 9, NULL, 10));
    if (strcmp(line, "poll\n") == 0) return poll_gateway(own, false);
    if (strcmp(line, "vanish\n") == 0) {
        (void)DUO_FLUSH(own->session);
        _exit(0);
    }
    return DUO_INVALID;
}

static duo_status register_at(const char *address, const char *name, const char *unit, simulation *own)
{
    sensor_client_unknown_t unknown;
    duo_status status = sensor_client_connect(address, NULL, &unknown);
    if (status != DUO_OK) return status;
    DUO_AUTO(sensor_client_answer) waiting = {0};
    DUO_AUTO_FREE(sensor_answer) answer = {0};
    status = sensor_client_unknown_send_register(unknown, duo_str_from(name), duo_str_from(unit), &waiting);
    if (status == DUO_OK) status = sensor_client_answer_recv_within(waiting, ANSWER, &answer);
    if (status != DUO_OK) return status;
    char text[80];
    switch (answer.tag) {
    case SENSOR_ANSWER_WELCOME:
        own->session = answer.as.welcome.next;
        own->settings = answer.as.welcome.settings;
        printf("welcome: %s\n", print_settings(text, sizeof text, own->settings));
        return DUO_OK;
    case SENSOR_ANSWER_REJECTED:
        duo_str_escape(text, sizeof text, answer.as.rejected.reason);
        printf("rejected: %s\n", text);
        return DUO_REFUSED;
    }
    return DUO_BROKEN;
}

int main(int count, char **arguments)
{
    if (count != 4) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    simulation own = {.at_ms = 0};
    duo_status status = register_at(arguments[1], arguments[2], arguments[3], &own);
    char line[LINE_SPACE];
    while (status == DUO_OK && own.session.sends.session != NULL && fgets(line, sizeof line, stdin) != NULL)
        status = obey(&own, line);
    if (status == DUO_OK && own.session.sends.session != NULL) status = sensor_client_measuring_send_leave(own.session);
    /* Does nothing if the session is over. */
    (void)sensor_client_measuring_close(own.session);
    if (status != DUO_OK) printf("%s\n", duo_status_text(status));
    if (duo_shutdown() != 0) return 3;
    return status == DUO_OK ? 0 : 1;
}
