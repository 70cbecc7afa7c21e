; What an editor folds.

[
  (fields)
  (variants)
  (mappings)
  (states)
  (messages)
  (payload)
  (block_comment)
] @fold
