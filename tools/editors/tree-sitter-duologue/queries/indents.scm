; How an editor indents. Helix and Zed read `indent`, `outdent` and `end`; Neovim reads the names that begin with `indent.`.

[
  (fields)
  (variants)
  (mappings)
  (states)
  (messages)
  (payload)
  (list_type)
  (tuple_type)
  (type_arguments)
  (type_parameters)
] @indent @indent.begin

["}" ")" "]" ">"] @outdent @indent.branch @indent.end

(fields "}" @end)
(variants "}" @end)
(mappings "}" @end)
(states "}" @end)
(states ")" @end)
(messages "}" @end)
(payload ")" @end)

[
  (line_comment)
  (doc_comment)
  (file_doc_comment)
  (block_comment)
] @indent.ignore
