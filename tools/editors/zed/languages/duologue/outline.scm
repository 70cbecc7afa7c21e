(protocol "proto" @context "!" @context name: (identifier) @name) @item
(instance "proto" @context "!" @context name: (identifier) @name) @item
(struct "struct" @context name: (identifier) @name) @item
(enum "enum" @context name: (identifier) @name) @item
(alias "type" @context name: (identifier) @name) @item
(extern_type "extern" @context "type" @context name: (identifier) @name) @item
(extern_bound "extern" @context "bound" @context name: (identifier) @name) @item
(state name: (identifier) @name (direction)? @context) @item
(message name: (identifier) @name) @item
