/* Text that is shown: sizes that `printf` cannot take, and characters that would do more than be displayed. */
#include <limits.h>
#include <string.h>

#include "check.h"
#include "duologue.h"

/* Complete in a buffer that it fills exactly, and in smaller ones no more than what fits. */
static void check_escaped(duo_str text, const char *expected)
{
    size_t size = strlen(expected);
    CHECK(duo_str_escape(NULL, 0, text) == size);
    for (size_t space = 1; space <= size + 2; space++) {
        char *place = malloc(space);
        CHECK(place != NULL);
        memset(place, 'z', space);
        CHECK(duo_str_escape(place, space, text) == size);
        size_t written = strlen(place);
        CHECK(written < space && strncmp(place, expected, written) == 0);
        CHECK(space <= size || written == size);
        /* Nothing is cut in the middle: an escape has four bytes at most, and so has a character. */
        CHECK(written + 4 >= (space - 1 < size ? space - 1 : size));
        free(place);
    }
}

/* A string of C, in buffers of every size; cut between characters. */
static void check_copied(void)
{
    const duo_str text = DUO_STR("na\xc3\xafve \xe2\x82\xac");
    static const size_t fits[] = {0, 0, 1, 2, 2, 4, 5, 6, 7, 7, 7, 10, 10};
    for (size_t space = 0; space < sizeof fits / sizeof *fits; space++) {
        char place[16];
        memset(place, 'z', sizeof place);
        CHECK(duo_str_copy(place, space, text) == text.size);
        if (space > 0) CHECK(strlen(place) == fits[space] && strncmp(place, text.data, fits[space]) == 0);
        CHECK(place[space] == 'z');
    }
    char empty[1];
    CHECK(duo_str_copy(empty, 1, (duo_str){NULL, 0}) == 0 && *empty == '\0');
    CHECK(duo_str_copy(NULL, 0, text) == text.size);
}

TEST(text)
{
    check_copied();
    check_escaped(DUO_STR(""), "");
    check_escaped((duo_str){NULL, 0}, "");
    check_escaped(DUO_STR("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"), "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80");
    check_escaped(DUO_STR("a\0b\nc\r\t\"\\\x1b[2J\x7f"), "a\\x00b\\nc\\r\\t\\\"\\\\\\x1b[2J\\x7f");
    check_escaped(DUO_STR("\xc2\x9b\xc2\xa0"), "\\xc2\\x9b\xc2\xa0");
    check_escaped(DUO_STR("caf\xe9"), "caf\\xe9");
    check_escaped(DUO_STR("\xe2\x82"), "\\xe2\\x82");
    check_escaped(DUO_STR("\x80\xff\xc0\x80"), "\\x80\\xff\\xc0\\x80");

    CHECK(duo_print_size(0) == 0 && duo_print_size(7) == 7);
    CHECK(duo_print_size((size_t)INT_MAX) == INT_MAX);
    CHECK(duo_print_size((size_t)INT_MAX + 1) == INT_MAX);
    CHECK(duo_print_size(SIZE_MAX) == INT_MAX);
    char shown[8];
    CHECK(snprintf(shown, sizeof shown, "%.*s", DUO_PRINT(DUO_STR("abc"))) == 3 && strcmp(shown, "abc") == 0);
}
