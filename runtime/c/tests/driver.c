/* Runs the cases that are named, one after the other, in this process. */
#include <string.h>

#include "check.h"

static test *tests;
bool is_rescued = true;

void add_test(test *added)
{
    added->next = tests;
    tests = added;
}

/* Before another case: nothing wakes a sleeper but what it waits for, so a wake-up that is lost ends in the time limit of the case. */
TEST(nothing_rescues)
{
    is_rescued = false;
}

int main(int count, char **names)
{
    for (int i = 1; i < count; i++) {
        const test *found = tests;
        while (found != NULL && strcmp(found->name, names[i]) != 0) found = found->next;
        if (found == NULL) {
            fprintf(stderr, "there is no case %s\n", names[i]);
            return 2;
        }
        found->run();
    }
    return count > 1 ? 0 : 2;
}
