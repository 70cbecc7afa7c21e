" A line is indented by the brackets that are open before it.

if exists('b:did_indent')
  finish
endif
let b:did_indent = 1

setlocal indentexpr=DuologueIndent()
setlocal indentkeys=0{,0},0),0],!^F,o,O
let b:undo_indent = 'setlocal indentexpr< indentkeys<'

if exists('*DuologueIndent')
  finish
endif

" A line without its comment and strings, so that only brackets of the language are counted.
function! s:code(number) abort
  return substitute(substitute(getline(a:number), '"[^"]*"', '', 'g'), '//.*', '', '')
endfunction

function! DuologueIndent() abort
  let l:before = prevnonblank(v:lnum - 1)
  if l:before == 0
    return 0
  endif
  let l:code = s:code(l:before)
  " Brackets at the beginning have already moved their own line.
  let l:code = substitute(l:code, '^\s*[})\]]\+', '', '')
  let l:opened = len(substitute(l:code, '[^{(\[]', '', 'g'))
  let l:closed = len(substitute(l:code, '[^})\]]', '', 'g'))
  let l:indent = indent(l:before) + (l:opened > l:closed) * shiftwidth() - (l:opened < l:closed) * shiftwidth()
  if s:code(v:lnum) =~# '^\s*[})\]]'
    let l:indent -= shiftwidth()
  endif
  return max([l:indent, 0])
endfunction
