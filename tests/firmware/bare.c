/* What main.c prints, without a session: what is left of the size of main.c is the session's. */
#include <stdio.h>

int main(void)
{
    for (unsigned cents = 500; cents <= 1500; cents += 500) printf("%u cents\n", cents);
    return 0;
}
