# Protocols between two parties: https://github.com/duologue/duologue
#
# Source this file from `kakrc`. `docs/editors.md` shows how to add the language server, with kak-lsp.

# Detection
# ‾‾‾‾‾‾‾‾‾

hook global BufCreate .*[.]duo %{
    set-option buffer filetype duologue
}

# A file that ends in .proto is ours if it has a protocol, and otherwise one of Protocol Buffers, whose file type Kakoune sets.
hook global BufCreate .*[.]proto duologue-detect
hook global BufSetOption filetype=protobuf duologue-detect

define-command -hidden duologue-detect %{
    try %{
        execute-keys -draft '%s^\h*(#\h*\[[^\]\n]*\]\h*)*proto\h*!<ret>'
        set-option buffer filetype duologue
    }
}

# Initialization
# ‾‾‾‾‾‾‾‾‾‾‾‾‾‾

hook global WinSetOption filetype=duologue %§
    require-module duologue
    set-option window static_words %opt{duologue_static_words}
    hook window InsertChar \n -group duologue-indent duologue-indent-on-new-line
    hook window InsertChar [})\]] -group duologue-indent duologue-indent-on-closing
    hook -once -always window WinSetOption filetype=.* %{ remove-hooks window duologue-.+ }
§

hook -group duologue-highlight global WinSetOption filetype=duologue %{
    require-module duologue
    add-highlighter window/duologue ref duologue
    hook -once -always window WinSetOption filetype=.* %{ remove-highlighter window/duologue }
}

hook global BufSetOption filetype=duologue %{
    set-option buffer comment_line '//'
    set-option buffer comment_block_begin '/*'
    set-option buffer comment_block_end '*/'
    set-option buffer indentwidth 4
}

provide-module duologue %§

declare-option -hidden str-list duologue_static_words \
    package import type struct enum extern bound proto send recv client server \
    bool bytes str u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 \
    allow warn deny dual_of at_most within accepts rust scala from drop

# Highlighters
# ‾‾‾‾‾‾‾‾‾‾‾‾

# No word is reserved, so a keyword is one only where it has a meaning. Where two expressions match the same text, the later one applies.

add-highlighter shared/duologue regions
add-highlighter shared/duologue/code default-region group
# A string that is not closed ends with its line.
add-highlighter shared/duologue/string region '"' '"|$' fill string
add-highlighter shared/duologue/doc region '///(?!/)|//!' '$' fill documentation
add-highlighter shared/duologue/line region '//' '$' fill comment
add-highlighter shared/duologue/block region -recurse '/\*' '/\*' '\*/' fill comment
add-highlighter shared/duologue/attribute region '#\h*\[' '\]|(?=[{};])' group

add-highlighter shared/duologue/attribute/ fill meta
add-highlighter shared/duologue/attribute/ regex '[\[(,]\h*([a-z][a-z0-9-]*)(?=[,) ])' 1:value
add-highlighter shared/duologue/attribute/ regex '\b(\d+)\h*(B|KiB|MiB|ms|s|min|h)\b' 0:value
add-highlighter shared/duologue/attribute/ regex '\b[0-9A-Fa-f]{32}\b' 0:value

# A string is a region of its own, so what is before it ends with whitespace. If it is a name after all, a later expression applies.
add-highlighter shared/duologue/code/ regex '^\h*(import)\h' 1:keyword
add-highlighter shared/duologue/code/ regex '\b(rust|c|scala)\h*=' 1:keyword
add-highlighter shared/duologue/code/ regex '\b(from|drop)\h' 1:keyword
add-highlighter shared/duologue/code/ regex '\b\d+\b' 0:value
add-highlighter shared/duologue/code/ regex '->|[~?+=!]' 0:operator
add-highlighter shared/duologue/code/ regex '[(,\[<~+]\h*([A-Za-z_]\w*)(?=[,)\]>?;<+ ])' 1:type
add-highlighter shared/duologue/code/ regex '\b([A-Za-z_]\w*)\h*:(?!:)\h*~*([A-Za-z_]\w*)?' 1:variable 2:type
add-highlighter shared/duologue/code/ regex '\b(?:bool|bytes|str|int|uint|float|[iu](?:8|16|32|64)|f(?:32|64))\b' 0:type
add-highlighter shared/duologue/code/ regex '\b([A-Za-z_]\w*)\h*(?:\(|->)' 1:function
add-highlighter shared/duologue/code/ regex '\b([A-Za-z_]\w*)\h*\{' 1:module
add-highlighter shared/duologue/code/ regex '\b([A-Za-z_]\w*)\h*:\h*(send|recv)\b\h*(?:[{<]|$)' 1:module 2:keyword
add-highlighter shared/duologue/code/ regex '->\s*([A-Za-z_]\w*)' 1:module
add-highlighter shared/duologue/code/ regex '->\s*(!)' 1:keyword
add-highlighter shared/duologue/code/ regex '\b([A-Za-z_]\w*)\h*::\h*(client|server)\h*::\h*([A-Za-z_]\w*)' 1:type 2:keyword 3:module
add-highlighter shared/duologue/code/ regex '\b(proto)\h*(!)\h*([A-Za-z_]\w*)?(?:\h*=\h*([A-Za-z_]\w*))?' 1:keyword 2:keyword 3:type 4:type
add-highlighter shared/duologue/code/ regex '^\h*(struct|enum)\h+([A-Za-z_]\w*)\h*(?:\{|$)' 1:keyword 2:type
add-highlighter shared/duologue/code/ regex '\b(type)\h+([A-Za-z_]\w*)\h*=\h*([A-Za-z_]\w*)?' 1:keyword 2:type 3:type
add-highlighter shared/duologue/code/ regex '\b(extern)\h+(type|bound)\h+([A-Za-z_]\w*)' 1:keyword 2:keyword 3:type
add-highlighter shared/duologue/code/ regex '^\h*(package)\h+([A-Za-z_][\w.]*)\h*;' 1:keyword 2:module

# Commands
# ‾‾‾‾‾‾‾‾

# Braces in expressions have no partner, so other characters delimit the blocks.

define-command -hidden duologue-indent-on-new-line %~
    evaluate-commands -draft -itersel %_
        # Keep the indentation, and begin the next line of documentation.
        try %{ execute-keys -draft <semicolon> K <a-&> }
        try %{ execute-keys -draft k x s '^\h*\K(///?|//!)\h*' <ret> y gh j P }
        # Indent after an opening bracket.
        try %= execute-keys -draft k x <a-k> '[{(\[]\h*$' <ret> j <a-gt> =
    _
~

define-command -hidden duologue-indent-on-closing %~
    # Align a bracket that begins its line with the line of its partner.
    evaluate-commands -draft -itersel %_
        try %= execute-keys -draft <a-h> <a-k> '^\h*[})\]]$' <ret> h m <a-S> 1<a-&> =
    _
~

§
