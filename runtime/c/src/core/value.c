/*
 * What the program has found out about a peer that it admits. Its session holds it, and so does the thread of its handler,
 * which may still use it when the session is over.
 */
#include "net.h"

struct duo_net_value {
    void *content;
    void (*release)(void *value, void *context);
    void *context;
    DUO_ATOMIC unsigned holders;
};

duo_status duo_net_ask(const duo_net_options *options, const duo_peer *peer, duo_net_value **value)
{
    *value = NULL;
    if (options->admit != NULL && !options->admit(peer, options->context)) return DUO_REFUSED;
    if (options->admit_as == NULL) return DUO_OK;
    void *content = NULL;
    bool is_admitted = options->admit_as(peer, &content, options->context);
    if (content == NULL) return is_admitted ? DUO_OK : DUO_REFUSED;
    duo_net_value *made = is_admitted ? duo_allocate(sizeof *made) : NULL;
    if (made == NULL) {
        if (options->release != NULL) options->release(content, options->context);
        return is_admitted ? DUO_NO_MEMORY : DUO_REFUSED;
    }
    made->content = content;
    made->release = options->release;
    made->context = options->context;
    duo_atomic_init(&made->holders, 1);
    *value = made;
    return DUO_OK;
}

void *duo_net_content(const duo_net_value *value)
{
    return value != NULL ? value->content : NULL;
}

duo_net_value *duo_net_hold(duo_net_value *value)
{
    /* Relaxed: the caller knows that there is another holder. */
    if (value != NULL) (void)duo_atomic_fetch_add(&value->holders, 1, memory_order_relaxed);
    return value;
}

void duo_net_drop_value(duo_net_value *value)
{
    if (value == NULL) return;
    /* Released by each holder and acquired by the last one: what all of them did with the value comes before its release. */
    if (duo_atomic_fetch_sub(&value->holders, 1, memory_order_acq_rel) > 1) return;
    if (value->release != NULL) value->release(value->content, value->context);
    duo_release(value);
}
