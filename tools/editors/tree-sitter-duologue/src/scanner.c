// Block comments, which nest as deep as the compiler allows. Nothing is kept between two of them.

#include "tree_sitter/parser.h"

enum { BLOCK_COMMENT };

// A comment that nests deeper is an error, as it is for the compiler.
#define DEPTH_LIMIT 64

void *tree_sitter_duologue_external_scanner_create(void) { return NULL; }

void tree_sitter_duologue_external_scanner_destroy(void *payload) { (void)payload; }

unsigned tree_sitter_duologue_external_scanner_serialize(void *payload, char *buffer) {
    (void)payload;
    (void)buffer;
    return 0;
}

void tree_sitter_duologue_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
    (void)payload;
    (void)buffer;
    (void)length;
}

static void step(TSLexer *lexer) { lexer->advance(lexer, false); }

static bool is_blank(int32_t letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n' || letter == 0xFEFF;
}

bool tree_sitter_duologue_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
    (void)payload;
    if (!valid_symbols[BLOCK_COMMENT]) {
        return false;
    }
    while (is_blank(lexer->lookahead)) {
        lexer->advance(lexer, true);
    }
    if (lexer->lookahead != '/') {
        return false;
    }
    step(lexer);
    if (lexer->lookahead != '*') {
        return false;
    }
    step(lexer);
    unsigned depth = 1;
    while (!lexer->eof(lexer)) {
        int32_t letter = lexer->lookahead;
        step(lexer);
        if (letter == '/' && lexer->lookahead == '*') {
            step(lexer);
            depth++;
            if (depth > DEPTH_LIMIT) {
                return false;
            }
        } else if (letter == '*' && lexer->lookahead == '/') {
            step(lexer);
            depth--;
            if (depth == 0) {
                lexer->result_symbol = BLOCK_COMMENT;
                return true;
            }
        }
    }
    return false;
}
