/* No buffer that is freed still contains the file of a private key. OpenSSL has copies of its own of what is in it. */
#define _GNU_SOURCE
#include <malloc.h>

#include "raw.h"
#include "tls.h"

/* The beginning of the file, with a part of the secret. */
static char text[512];
static size_t text_size;
static unsigned found;

void __libc_free(void *block);

/* Takes the place of the function of the C library. */
void free(void *block)
{
    if (block != NULL && text_size > 0 && memmem(block, malloc_usable_size(block), text, text_size) != NULL) found += 1;
    __libc_free(block);
}

/* The second line begins in the middle of the secret. */
static void read_key(void)
{
    static char whole[sizeof text];
    FILE *file = fopen(CERTIFICATES "/client.key", "r");
    CHECK(file != NULL && fread(whole, 1, sizeof whole - 1, file) > 0 && fclose(file) == 0);
    const char *first = strchr(whole, '\n'), *second = first != NULL ? strchr(first + 1, '\n') : NULL;
    CHECK(second != NULL && second - first == 65 && strlen(second) > 25);
    memcpy(text, whole, (size_t)(second - whole) + 25);
    text_size = (size_t)(second - whole) + 25;
}

TEST(tls_key)
{
    read_key();
    /* What it looks for would be found. */
    char *copy = malloc(text_size);
    CHECK(copy != NULL);
    memcpy(copy, text, text_size);
    __asm__ volatile("" : : "r"(copy) : "memory");
    free(copy);
    CHECK(found == 1);
    duo_tls_free(party("ca", "client"));
    CHECK(found == 1);
}
