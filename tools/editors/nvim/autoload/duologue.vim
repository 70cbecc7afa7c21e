" Distinguishes our .proto files from those of Protocol Buffers, by the rule of the compiler: a file with a protocol is ours; one without is theirs, unless it
" declares something that only Duologue has.

function! duologue#is_ours() abort
  let l:types = 0
  let l:theirs = 0
  let l:comment = 0
  for l:line in getline(1, 1000)
    if l:comment
      let l:comment = l:line !~# '\*/'
      continue
    endif
    if l:line =~# '^\s*/\*' && l:line !~# '\*/'
      let l:comment = 1
    elseif l:line =~# '^\s*\%(#\s*\[[^\]]*\]\s*\)*proto\s*!'
      return 1
    elseif l:line =~# '^\s*\%(type\s\+\w\+\s*=\|struct\s\+\w\+\s*{\|extern\s\+\%(type\|bound\)\s\)'
      let l:types = 1
    elseif l:line =~# '^\s*\%(\%(syntax\|edition\)\s*=\|\%(message\|service\|extend\)\s\+[[:alnum:]_.]\+\s*{\|option\s\)'
      let l:theirs = 1
    endif
  endfor
  return l:types && !l:theirs
endfunction
