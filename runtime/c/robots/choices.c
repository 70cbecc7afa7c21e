/* Where the choices of robots come from. */
#include "robots.h"

enum { FROM_BYTES, FROM_SEED, FROM_COVERING };

duo_choices duo_choices_bytes(const uint8_t *bytes, size_t size)
{
    duo_choices choices = {FROM_BYTES, bytes, size, 0, 0, 0, 0};
    return choices;
}

duo_choices duo_choices_seed(uint64_t seed)
{
    duo_choices choices = {FROM_SEED, NULL, 0, 0, seed, 0, 0};
    return choices;
}

duo_choices duo_choices_covering(void)
{
    duo_choices choices = {FROM_COVERING, NULL, 0, 0, 0, 0, 0};
    return choices;
}

/* SplitMix64, by Steele, Lea and Flood (2014). */
static uint64_t mixed(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

bool duo_choices_next(duo_choices *choices, uint8_t *byte)
{
    switch (choices->kind) {
    case FROM_BYTES:
        if (choices->at >= choices->size) return false;
        *byte = choices->bytes[choices->at++];
        return true;
    case FROM_SEED:
        if (choices->left == 0) {
            choices->word = mixed(&choices->state);
            choices->left = 8;
        }
        *byte = (uint8_t)choices->word;
        choices->word >>= 8;
        choices->left -= 1;
        return true;
    default: *byte = 1; return true;
    }
}
