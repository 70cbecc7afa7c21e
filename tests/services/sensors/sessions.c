#include "sessions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sensor_server_any_t OVER = {SENSOR_SERVER_ANY_ENDED, {NULL, 0}};

/* Why this sensor may not register; NULL if it may. Finds or creates what the gateway remembers of it. */
static const char *find_sensor(gateway *own, duo_str name, duo_str unit, device **sensor)
{
    if (own->is_closing) return "the gateway is closing";
    if (!device_is_name(name)) return "this is not a valid name";
    char text[NAME_SPACE];
    duo_str_copy(text, sizeof text, name);
    device *found = devices_add(&own->known, text);
    if (found == NULL) return "there are too many sensors";
    if (found->is_connected) return "the name is taken";
    found->is_connected = true;
    found->is_stopped = false;
    duo_str_escape(found->unit, sizeof found->unit, unit);
    *sensor = found;
    return NULL;
}

/*
 * The answer to `register`. Nothing in the event loop may wait, so if there is no space to send it, the session stays in
 * its state, and this is called again when there is.
 */
static sensor_server_any_t on_answer(sensor_server_answer_t self, void *context)
{
    session *own = context;
    sensor_server_measuring_t measuring;
    if (own->refusal != NULL) {
        duo_status status = sensor_server_answer_try_send_rejected(self, duo_str_from(own->refusal));
        if (status == DUO_FULL) return sensor_server_answer_any(self);
        own->ending = "rejected";
    } else {
        duo_status status = sensor_server_answer_try_send_welcome(self, own->sensor->settings, &measuring);
        if (status == DUO_FULL) return sensor_server_answer_any(self);
        if (status == DUO_OK) own->sensor->is_changed = false;
        if (status == DUO_OK) return sensor_server_measuring_any(measuring);
    }
    /* Does nothing if the session is over anyway. */
    (void)sensor_server_answer_close(self);
    return OVER;
}

static sensor_server_any_t on_register(duo_str name, duo_str unit, sensor_server_answer_t next, void *context)
{
    session *own = context;
    own->refusal = find_sensor(own->gateway, name, unit, &own->sensor);
    if (own->refusal == NULL) {
        own->gateway->registered += 1;
        printf("registered %s\n", own->sensor->name);
    }
    return on_answer(next, own);
}

static void note(session *own, reading_t reading)
{
    gateway *shared = own->gateway;
    shared->readings += 1;
    if (!device_note(own->sensor, reading)) return;
    char text[ALARM_SPACE];
    snprintf(text, sizeof text, "%s: %g %s at %" PRIu64 " ms", own->sensor->name, reading.value, own->sensor->unit,
             reading.at_ms);
    shared->raised += 1;
    const bool is_taken = backlog_raise(shared->alarms, own->sensor->name, text);
    if (!is_taken) shared->dropped += 1;
    printf("alarm %s%s\n", text, is_taken ? "" : ", dropped");
}

static sensor_server_any_t on_reading(reading_t reading, sensor_server_measuring_t next, void *context)
{
    note(context, reading);
    return sensor_server_measuring_any(next);
}

static sensor_server_any_t on_late(duo_list_reading_t readings, sensor_server_measuring_t next, void *context)
{
    for (size_t i = 0; i < readings.size; i++) note(context, readings.data[i]);
    return sensor_server_measuring_any(next);
}

/* The answer to `poll`; like `on_answer`, it is called again if there was no space. */
static sensor_server_any_t on_instruction(sensor_server_instruction_t self, void *context)
{
    session *own = context;
    device *sensor = own->sensor;
    sensor_server_measuring_t measuring;
    const bool stops = own->gateway->is_closing || sensor->is_stopped;
    duo_status status;
    if (stops) status = sensor_server_instruction_try_send_stop(self);
    else if (sensor->is_changed) status = sensor_server_instruction_try_send_change(self, sensor->settings, &measuring);
    else status = sensor_server_instruction_try_send_go_on(self, &measuring);
    if (status == DUO_FULL) return sensor_server_instruction_any(self);
    if (status == DUO_OK && stops) own->ending = "stopped";
    if (status == DUO_OK) sensor->is_changed = false;
    if (status == DUO_OK && !stops) return sensor_server_measuring_any(measuring);
    (void)sensor_server_instruction_close(self);
    return OVER;
}

static sensor_server_any_t on_poll(sensor_server_instruction_t next, void *context)
{
    return on_instruction(next, context);
}

static void on_leave(void *context)
{
    ((session *)context)->ending = "left";
}

static const sensor_server_handlers_t HANDLERS = {
    .unknown = {.register_ = on_register},
    .answer = on_answer,
    .measuring = {.reading = on_reading, .late = on_late, .poll = on_poll, .leave = on_leave},
    .instruction = on_instruction,
};

/* Frees what the session has; the statistics of its sensor stay. */
static void end(session *own, const char *how)
{
    (void)sensor_server_any_close(own->endpoint);
    if (own->sensor != NULL) {
        own->sensor->is_connected = false;
        printf("%s %s\n", how, own->sensor->name);
    }
    *own->place = own->next;
    if (own->next != NULL) own->next->place = own->place;
    free(own);
}

/* Waits for the next message, or for space to send. */
static duo_status wait_for(session *own)
{
    return duo_ports_add(own->gateway->ports, sensor_server_any_ready(own->endpoint), own, &own->port);
}

void session_begin(gateway *own, sensor_server_unknown_t endpoint)
{
    session *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)sensor_server_unknown_close(endpoint);
        return;
    }
    made->gateway = own;
    made->endpoint = sensor_server_unknown_any(endpoint);
    made->next = own->first;
    made->place = &own->first;
    if (made->next != NULL) made->next->place = &made->next;
    own->first = made;
    if (wait_for(made) != DUO_OK) end(made, "gave up");
}

void session_continue(session *own)
{
    duo_status status = sensor_server_dispatch(&own->endpoint, DUO_AT_ONCE, &HANDLERS, own);
    if (own->ending != NULL) {
        end(own, own->ending);
        return;
    }
    /* DUO_EMPTY: it is not ready after all. */
    const bool goes_on = own->endpoint.tag != SENSOR_SERVER_ANY_ENDED && (status == DUO_OK || status == DUO_EMPTY);
    if (goes_on && wait_for(own) == DUO_OK) return;
    own->gateway->lost += 1;
    end(own, "lost");
}

void sessions_close(gateway *own)
{
    while (own->first != NULL) {
        duo_ports_remove(own->ports, own->first->port);
        end(own->first, "closed");
    }
}
