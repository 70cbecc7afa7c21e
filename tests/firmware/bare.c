/* Prints what main.c prints, without a session: the difference in size is what the session costs. */
#include <stdio.h>

int main(void)
{
    for (unsigned cents = 500; cents <= 1500; cents += 500) printf("%u cents\n", cents);
    return 0;
}
