" For Vim and Neovim: the file type of each file, and the syntax groups in one. `g:folder` is this repository, `g:report` where the answer goes.

set nocompatible
let &runtimepath = g:folder . '/tools/editors/nvim,' . &runtimepath
filetype plugin indent on
syntax on

let s:report = []

for s:file in g:files
  execute 'edit' fnameescape(s:file)
  call add(s:report, fnamemodify(s:file, ':t') . ' ' . &filetype)
endfor

execute 'edit' fnameescape(g:folder . '/tools/editors/vscode/test/everything.duo')
for s:line in range(1, line('$'))
  let s:words = []
  let s:last = 'none'
  for s:column in range(1, len(getline(s:line)))
    if getline(s:line)[s:column - 1] =~# '\s'
      let s:last = 'none'
      continue
    endif
    let s:group = synIDattr(synID(s:line, s:column, 1), 'name')
    let s:letter = getline(s:line)[s:column - 1]
    if s:group ==# s:last && !empty(s:words)
      let s:words[-1] .= s:letter
    else
      call add(s:words, substitute(s:group, '^duologue', '', '') . '=' . s:letter)
    endif
    let s:last = s:group
  endfor
  call add(s:report, s:line . ' ' . join(s:words, ' '))
endfor

" Indented from nothing, the text is what it was.
let s:text = getline(1, '$')
silent %left
silent normal! gg=G
for s:line in range(1, line('$'))
  if getline(s:line) !=# s:text[s:line - 1]
    call add(s:report, 'indented ' . s:line . ': ' . getline(s:line))
  endif
endfor

call writefile(s:report, g:report)
qall!
