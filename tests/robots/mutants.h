/* What the servers in C with all their mutants call. `tests/suite/robots/wraps.rs` writes these calls. */
#ifndef MUTANTS_H
#define MUTANTS_H

#include <stdbool.h>

/* Whether this mutant plays. */
bool mutant_is(int number);
/* Waits, if this mutant plays, until the robot has given up. */
void mutant_hangs(int number);

/* Other values than the mutant got. */
#define MUTANT_NUMBER(number, ...) ((__VA_ARGS__) + mutant_is(number))
#define MUTANT_SHORTER(number, ...)                                                                                    \
    ({                                                                                                                 \
        __typeof__(__VA_ARGS__) mutant = __VA_ARGS__;                                                                  \
        if (mutant_is(number) && mutant.size > 0) mutant.size -= 1;                                                    \
        mutant;                                                                                                        \
    })
#define MUTANT_OPTION(number, ...)                                                                                     \
    ({                                                                                                                 \
        __typeof__(__VA_ARGS__) mutant = __VA_ARGS__;                                                                  \
        if (mutant_is(number)) mutant.some = !mutant.some;                                                             \
        mutant;                                                                                                        \
    })

#endif
