/* The steps of lanes (duologue/lane.h) that take more than a few instructions. Each transport has its own. */
#include "duologue/lane.h"

#include "../link/transport.h"

void duo_lane_go_on(duo_endpoint next)
{
    duo_transport_of(next)->lane_go_on(next);
}

void duo_lane_line_ends(duo_endpoint next)
{
    duo_transport_of(next)->lane_line_ends(next);
}

duo_status duo_answer_peer(duo_endpoint next, uint32_t flags)
{
    return duo_transport_of(next)->answer_peer(next, flags);
}
