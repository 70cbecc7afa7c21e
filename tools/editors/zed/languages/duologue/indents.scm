(fields "}" @end) @indent
(variants "}" @end) @indent
(mappings "}" @end) @indent
(states "}" @end) @indent
(states ")" @end) @indent
(messages "}" @end) @indent
(payload ")" @end) @indent
