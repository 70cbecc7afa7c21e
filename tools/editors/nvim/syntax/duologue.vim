" Colors for protocol files. No word is reserved, so a keyword is one only where it has a meaning. Where two patterns match at the same place, the later
" one applies. Regions end at the next brace or arrow, so a mistake changes only a few lines.

if exists('b:current_syntax')
  finish
endif

syntax match duologuePayloadType /\<\h\w*\>/ contained
syntax match duologueNumber /\<\d\+\>/
syntax match duologueBuiltin /\<\%(bool\|bytes\|str\|int\|uint\|float\|[iu]\%(8\|16\|32\|64\)\|f\%(32\|64\)\)\>/
syntax match duologueTypeName /\%([[<~+]\s*\)\@<=\h\w*/ contains=duologueBuiltin
syntax match duologueOperator /[~?+=!]/

syntax match duologueEntry /\<\h\w*\ze\s*:\%(:\)\@!/ nextgroup=duologueColon skipwhite
syntax match duologueColon /:/ contained nextgroup=duologueEntryType skipwhite
syntax match duologueEntryType /\~*\s*\h\w*\%(\s*::\)\@!/ contained contains=duologueBuiltin

syntax region duologuePayload start=/(/ end=/)/ end=/\ze[{}]/ end=/\ze->/ end=/\ze\<proto\s*!/ transparent
      \ contains=duologuePayload,duologuePayloadType,duologueBuiltin,duologueEntry,duologueEndpoint,duologueNumber,duologueOperator,duologueComment,duologueBlockComment,duologueDoc,duologueString

syntax match duologueMessage /\<\h\w*\ze\s*\%((\|->\)/
syntax match duologueState /\<\h\w*\ze\s*{/
syntax match duologueState /\<\h\w*\ze\s*:\s*\%(send\|recv\)\>\s*\%([{<]\|\/\|$\)/ nextgroup=duologueStateColon skipwhite
syntax match duologueStateColon /:/ contained nextgroup=duologueDirection skipwhite
syntax match duologueDirection /send\|recv/ contained

syntax match duologueArrow /->/ nextgroup=duologueEnd,duologueNext skipwhite skipempty
syntax match duologueEnd /!/ contained
syntax match duologueNext /\h\w*/ contained

syntax match duologueEndpoint /\<\h\w*\s*::\s*\%(client\|server\)\s*::\s*\h\w*/ contains=duologueSide,duologueEndpointState
syntax match duologueSide /\%(::\s*\)\@<=\%(client\|server\)\ze\s*::/ contained
syntax match duologueEndpointState /\%(::\s*\%(client\|server\)\s*::\s*\)\@<=\h\w*/ contained

syntax match duologueKeyword /\<proto\s*!/ nextgroup=duologueProtocol skipwhite
syntax match duologueProtocol /\h\w*\%(\s*[({]\)\?/ contained contains=duologueBracket
syntax match duologueProtocol /\h\w*\s*=\s*\h\w*/ contained contains=duologueOperator
syntax match duologueBracket /[({]/ contained
syntax match duologueKeyword /^\s*\%(struct\|enum\)\ze\s\+\h\w*\s*\%({\|$\)/ nextgroup=duologueDeclared skipwhite
syntax match duologueKeyword /\<type\ze\s\+\h\w*\s*=/ nextgroup=duologueDeclared skipwhite
syntax match duologueKeyword /\<extern\s\+\%(type\|bound\)\ze\s\+\h\w*/ nextgroup=duologueDeclared skipwhite
syntax match duologueDeclared /\h\w*/ contained nextgroup=duologueColon skipwhite
syntax match duologueInclude /^\s*package\ze\s\+\h[[:alnum:]_. ]*;/ nextgroup=duologuePackage skipwhite
syntax match duologuePackage /[^;]*/ contained
syntax match duologueInclude /^\s*import\ze\s*"/
syntax match duologueKeyword /\<\%(rust\|c\|scala\)\ze\s*=\s*"/
syntax match duologueKeyword /\<\%(from\|drop\)\ze\s*"/

syntax region duologueAttribute matchgroup=duologueAttributeSign start=/#\s*\[/ end=/\]/ end=/\ze[{};:]/ end=/\ze->/ end=/\ze\<proto\s*!/
      \ contains=duologueAttributeName,duologueQuantity,duologueComment,duologueBlockComment,duologueRule
syntax match duologueRule /[a-z][a-z0-9_-]*/ contained
syntax match duologueQuantity /\d\+\s*\%(B\|KiB\|MiB\|ms\|s\|min\|h\)\>/ contained
syntax match duologueQuantity /\<\x\{32}\>/ contained
syntax match duologueAttributeName /\%(\[\s*\)\@<=\%(allow\|warn\|deny\|dual_of\|at_most\|within\|accepts\)\>/ contained

syntax match duologueString /"[^"\\]*"/
syntax match duologueOpenString /"[^"\\]*$/
syntax match duologueComment +//.*+ contains=@Spell
syntax match duologueDoc +///\%(/\)\@!.*+ contains=@Spell
syntax match duologueDoc +//!.*+ contains=@Spell
" With a group of its own, the beginning of a comment is not the beginning of a comment in it.
syntax region duologueBlockComment matchgroup=duologueBlockComment start=+/\*+ end=+\*/+ contains=duologueBlockComment,@Spell

syntax sync minlines=100

highlight default link duologueAttribute PreProc
highlight default link duologueAttributeName PreProc
highlight default link duologueAttributeSign PreProc
highlight default link duologueRule Constant
highlight default link duologueNumber Number
highlight default link duologueQuantity Number
highlight default link duologueBuiltin Type
highlight default link duologueTypeName Type
highlight default link duologuePayloadType Type
highlight default link duologueEntryType Type
highlight default link duologueDeclared Type
highlight default link duologueProtocol Structure
highlight default link duologueEndpoint Structure
highlight default link duologueSide Keyword
highlight default link duologueEntry Identifier
highlight default link duologueMessage Function
highlight default link duologueState Label
highlight default link duologueNext Label
highlight default link duologueEndpointState Label
highlight default link duologueEnd Statement
highlight default link duologueArrow Operator
highlight default link duologueOperator Operator
highlight default link duologueDirection Keyword
highlight default link duologueKeyword Keyword
highlight default link duologueInclude Include
highlight default link duologuePackage Include
highlight default link duologueString String
highlight default link duologueOpenString Error
highlight default link duologueComment Comment
highlight default link duologueBlockComment Comment
highlight default link duologueDoc SpecialComment

let b:current_syntax = 'duologue'
