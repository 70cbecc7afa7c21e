" A file that ends in .duo is always ours. One that ends in .proto is if its text says so.

augroup duologue_detect
  autocmd!
  autocmd BufRead,BufNewFile *.duo set filetype=duologue
  autocmd BufRead *.proto if duologue#is_ours() | set filetype=duologue | endif
  " The editor's own detection may come later.
  autocmd FileType proto if duologue#is_ours() | set filetype=duologue | endif
augroup END
