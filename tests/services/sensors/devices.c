#include "devices.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sensor that invents a new name for each connection must not take all memory. */
enum { MOST_DEVICES = 1000 };

static const settings_t AT_FIRST = {.every_ms = 10, .lowest = 0.0, .highest = 100.0};

static bool is_of_a_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool device_is_name(duo_str text)
{
    if (text.size == 0 || text.size >= NAME_SPACE) return false;
    for (size_t i = 0; i < text.size; i++)
        if (!is_of_a_name(text.data[i])) return false;
    return true;
}

/* The position of a name in the sorted list, whether it is there or not. */
static size_t find_place(const devices *known, const char *name)
{
    size_t from = 0, to = known->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(known->all[middle]->name, name) < 0) from = middle + 1;
        else to = middle;
    }
    return from;
}

device *devices_find(const devices *known, const char *name)
{
    size_t place = find_place(known, name);
    bool is_known = place < known->count && strcmp(known->all[place]->name, name) == 0;
    return is_known ? known->all[place] : NULL;
}

device *devices_add(devices *known, const char *name)
{
    device *found = devices_find(known, name);
    if (found != NULL) return found;
    if (known->count == MOST_DEVICES) return NULL;
    device **all = realloc(known->all, (known->count + 1) * sizeof *all);
    if (all == NULL) return NULL;
    known->all = all;
    device *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    snprintf(made->name, sizeof made->name, "%s", name);
    made->settings = AT_FIRST;
    size_t place = find_place(known, name);
    memmove(&all[place + 1], &all[place], (known->count - place) * sizeof *all);
    all[place] = made;
    known->count += 1;
    return made;
}

void devices_free(devices *known)
{
    for (size_t i = 0; i < known->count; i++) {
        duo_release_copy(known->all[i]->block);
        free(known->all[i]);
    }
    free(known->all);
    *known = (devices){NULL, 0};
}

bool device_note(device *own, reading_t reading)
{
    const double value = reading.value;
    if (isfinite(value)) {
        own->count += 1;
        own->last = value;
        own->mean += (value - own->mean) / (double)own->count;
        if (own->count == 1 || value < own->lowest) own->lowest = value;
        if (own->count == 1 || value > own->highest) own->highest = value;
    }
    /* A NaN is out of bounds, too. */
    const bool is_out = !(value >= own->settings.lowest && value <= own->settings.highest);
    const bool is_alarm = is_out && !own->is_out;
    own->is_out = is_out;
    if (is_alarm) own->alarms += 1;
    return is_alarm;
}

void device_keep_outcome(device *own, outcome_t outcome)
{
    own->outcomes += 1;
    outcome_t kept;
    void *block = NULL;
    /* If memory runs out, the previous outcome remains. */
    if (outcome_copy(outcome, &kept, &block) != DUO_OK) return;
    duo_release_copy(own->block);
    own->outcome = kept;
    own->block = block;
}

void outcome_print(char *place, size_t space, outcome_t outcome)
{
    char reason[REASON_SPACE];
    switch (outcome.tag) {
    case OUTCOME_DONE: snprintf(place, space, "done, %zu bytes", outcome.as.done.value.size); return;
    case OUTCOME_FAILED:
        duo_str_escape(reason, sizeof reason, outcome.as.failed.value);
        snprintf(place, space, "failed: %s", reason);
        return;
    }
    snprintf(place, space, "none");
}

void device_print(const device *own)
{
    char outcome[REASON_SPACE + 8];
    outcome_print(outcome, sizeof outcome, own->outcome);
    printf("%s: %" PRIu64 " readings, last %g, mean %g, from %g to %g %s; %" PRIu64 " alarms, %" PRIu64
           " outcomes, the last one: %s\n",
           own->name, own->count, own->last, own->mean, own->lowest, own->highest, own->unit, own->alarms,
           own->outcomes, outcome);
}
