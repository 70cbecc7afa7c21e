/* The pixels of one picture, as the programs of this case use them. */
#ifndef PIXELS_H
#define PIXELS_H

#include <stdlib.h>

struct pixels {
    size_t size;
    unsigned char *bytes;
};

static inline void pixels_free(struct pixels *pixels)
{
    if (pixels) free(pixels->bytes);
    free(pixels);
}

#endif
