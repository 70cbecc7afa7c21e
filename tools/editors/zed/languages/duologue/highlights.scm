; What an editor colors. Where two patterns capture one node, the later one applies.

(line_comment) @comment
(block_comment) @comment
(doc_comment) @comment.documentation
(file_doc_comment) @comment.documentation

(string) @string
(number) @number
(fingerprint) @number

[
  "package"
  "type"
  "struct"
  "enum"
  "extern"
  "bound"
  "proto"
] @keyword
"import" @keyword.import
["from" "drop"] @keyword
["rust" "c" "scala"] @keyword
["send" "recv"] @keyword
["client" "server"] @keyword
(size unit: _ @keyword)
(duration unit: _ @keyword)

["->" "=" "+" "~" "?" "!"] @operator
(end) @keyword.return
["{" "}" "(" ")" "[" "]" "<" ">"] @punctuation.bracket
["," ";" ":" "::" "."] @punctuation.delimiter

(package (identifier) @module)

(alias name: (identifier) @type)
(struct name: (identifier) @type)
(enum name: (identifier) @type)
(extern_type name: (identifier) @type)
(extern_bound name: (identifier) @type)
(bounds (identifier) @type)
(type_parameter name: (identifier) @type)
(named_type name: (identifier) @type)
((named_type name: (identifier) @type.builtin)
  (#match? @type.builtin "^(bool|bytes|str|int|uint|float|[ui](8|16|32|64)|f(32|64))$"))

(field name: (identifier) @property)
(entry name: (identifier) @property)
(variant name: (identifier) @constructor)

(protocol name: (identifier) @type)
(instance name: (identifier) @type)
(instance protocol: (identifier) @type)
(endpoint_type protocol: (identifier) @type)
(endpoint_type side: (identifier) @label)
(endpoint_type state: (identifier) @label)

(state name: (identifier) @label)
(next state: (identifier) @label)
(message name: (identifier) @function)

(attribute "#" @punctuation.special)
(attribute name: _ @attribute)
(attribute (rule_name) @constant)
(attribute (identifier) @type)

(ERROR) @error
