/* Which transitions of a protocol were seen. */
#include "robots.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "duologue/atomic.h"

/* How often an edge was taken by robots of this side, and of the other. */
typedef struct counts {
    DUO_ATOMIC uint64_t sent;
    DUO_ATOMIC uint64_t received;
} counts;

struct duo_coverage {
    const duo_robot_table *table;
    DUO_ATOMIC uint64_t sessions;
    /* A bit for each side that has played. */
    DUO_ATOMIC uint64_t sides;
    counts edges[];
};

duo_coverage *duo_coverage_new(const duo_robot_table *table)
{
    const duo_robot_node *last = &table->nodes[table->node_count - 1];
    const size_t count = last->first + last->count;
    duo_coverage *coverage = malloc(sizeof *coverage + count * sizeof *coverage->edges);
    if (coverage == NULL) return NULL;
    coverage->table = table;
    duo_atomic_init(&coverage->sessions, 0);
    duo_atomic_init(&coverage->sides, 0);
    for (size_t edge = 0; edge < count; edge += 1) {
        duo_atomic_init(&coverage->edges[edge].sent, 0);
        duo_atomic_init(&coverage->edges[edge].received, 0);
    }
    return coverage;
}

void duo_coverage_free(duo_coverage *coverage)
{
    free(coverage);
}

const duo_robot_table *duo_coverage_table(const duo_coverage *coverage)
{
    return coverage->table;
}

void duo_coverage_begin(duo_coverage *coverage, duo_role side)
{
    duo_atomic_fetch_add(&coverage->sessions, 1, memory_order_relaxed);
    duo_atomic_fetch_or(&coverage->sides, side == DUO_CLIENT ? 1u : 2u, memory_order_relaxed);
}

void duo_coverage_add(duo_coverage *coverage, size_t edge, bool is_sent)
{
    counts *at = &coverage->edges[edge];
    duo_atomic_fetch_add(is_sent ? &at->sent : &at->received, 1, memory_order_relaxed);
}

static uint64_t sent(const duo_coverage *coverage, size_t edge)
{
    return duo_atomic_load(&coverage->edges[edge].sent, memory_order_relaxed);
}

static uint64_t received(const duo_coverage *coverage, size_t edge)
{
    return duo_atomic_load(&coverage->edges[edge].received, memory_order_relaxed);
}

/*
 * A message that was sent and received counts once. So it does not matter when the peer of a shared coverage counts what it
 * receives.
 */
uint64_t duo_coverage_count(const duo_coverage *coverage, size_t edge)
{
    uint64_t from = sent(coverage, edge), to = received(coverage, edge);
    return from > to ? from : to;
}

bool duo_coverage_is_goal(const duo_coverage *coverage, const duo_robot_node *node, size_t edge)
{
    uint64_t all = 0;
    if (duo_coverage_count(coverage, edge) != 0) return false;
    for (size_t own = 0; own < node->count; own += 1) all += duo_coverage_count(coverage, node->first + own);
    return all < 8 * (uint64_t)node->count;
}

/* How many transitions robots can take that were taken at least this often. */
static size_t taken(const duo_coverage *coverage, uint64_t least)
{
    size_t count = 0;
    for (size_t node = 0; node < coverage->table->node_count; node += 1) {
        const duo_robot_node *at = &coverage->table->nodes[node];
        for (size_t own = 0; own < at->count; own += 1) {
            count += at->edges[own].is_coverable && duo_coverage_count(coverage, at->first + own) >= least;
        }
    }
    return count;
}

size_t duo_coverage_seen(const duo_coverage *coverage)
{
    return taken(coverage, 1);
}

size_t duo_coverage_all(const duo_coverage *coverage)
{
    return taken(coverage, 0);
}

size_t duo_coverage_text(const duo_coverage *coverage, char *place, size_t space)
{
    size_t seen = duo_coverage_seen(coverage), all = duo_coverage_all(coverage);
    int size = snprintf(place, space, "covered %zu/%zu transitions", seen, all);
    return size < 0 ? 0 : (size_t)size;
}

/* Where a report goes, and how much of it there has been. */
typedef struct report {
    char *place;
    size_t space;
    size_t size;
} report;

__attribute__((format(printf, 2, 3))) static void add(report *to, const char *format, ...)
{
    const size_t left = to->size < to->space ? to->space - to->size : 0;
    va_list values;
    va_start(values, format);
    int size = vsnprintf(left > 0 ? to->place + to->size : NULL, left, format, values);
    va_end(values);
    if (size > 0) to->size += (size_t)size;
}

size_t duo_coverage_json(const duo_coverage *coverage, char *place, size_t space)
{
    static const char *const sides[] = {"both", "client", "server", "both"};
    const duo_robot_table *table = coverage->table;
    report to = {place, space, 0};
    add(&to, "{\"version\":1,\"protocol\":\"%s\",\"fingerprint\":\"%s\",\"language\":\"c\",\"side\":\"%s\",\"sessions\":%" PRIu64
             ",\"transitions\":[",
        table->name, table->fingerprint, sides[duo_atomic_load(&coverage->sides, memory_order_relaxed) & 3],
        duo_atomic_load(&coverage->sessions, memory_order_relaxed));
    for (size_t node = 0; node < table->node_count; node += 1) {
        const duo_robot_node *at = &table->nodes[node];
        for (size_t own = 0; own < at->count; own += 1) {
            const size_t edge = at->first + own;
            add(&to, "%s{\"state\":\"%s\",\"message\":\"%s\",\"sent\":%" PRIu64 ",\"received\":%" PRIu64 "}", edge == 0 ? "" : ",",
                at->name, at->edges[own].name, sent(coverage, edge), received(coverage, edge));
        }
    }
    add(&to, "]}");
    return to.size;
}
