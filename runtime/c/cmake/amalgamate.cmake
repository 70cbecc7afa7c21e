# Writes the runtime as two files, duologue.h and duologue.c, for programs that are built without a build system:
#
#   cmake -D VERSION=... -D ROOT=... -D LICENSE=... -D HEADERS=... -D SOURCES=... -D FOLDER=... -P amalgamate.cmake
#
# HEADERS are what programs and generated code include, relative to ROOT/include; SOURCES are relative to ROOT. An
# `#include` of one of our own files is replaced by that file, the first time; everything else remains as it is. The
# result depends on nothing but these files.

cmake_minimum_required(VERSION 3.21)

# Files that have been written. Each of them has an include guard, so a second copy would do no harm: a file that is
# included under a condition does not count, because elsewhere the condition may not hold.
set(written)

# Appends a file to `text`.
function(expand file is_conditional)
  cmake_path(GET file EXTENSION ending)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${ROOT} OUTPUT_VARIABLE name)
  if(NOT is_conditional)
    list(APPEND written ${file})
  endif()
  # All of a header is inside its include guard.
  set(outside 0)
  if(ending STREQUAL ".h")
    set(outside 1)
  endif()
  set(depth 0)

  file(READ ${file} rest)
  string(APPEND text "/* ${name} */\n\n")
  # CMake splits lists at semicolons but not inside brackets, so the lines are not put into a list.
  while(NOT rest STREQUAL "")
    string(FIND "${rest}" "\n" end)
    string(SUBSTRING "${rest}" 0 ${end} line)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${rest}" ${end} -1 rest)
    if(line MATCHES "^ *# *if")
      math(EXPR depth "${depth} + 1")
    elseif(line MATCHES "^ *# *endif")
      math(EXPR depth "${depth} - 1")
    endif()
    if(line MATCHES "^ *# *include \"(.*)\"")
      set(included ${folder}/${CMAKE_MATCH_1})
      if(NOT EXISTS ${included})
        set(included ${ROOT}/include/${CMAKE_MATCH_1})
      endif()
      cmake_path(NORMAL_PATH included)
      if(NOT included IN_LIST written)
        set(is_inner ${is_conditional})
        if(depth GREATER outside)
          set(is_inner TRUE)
        endif()
        expand(${included} ${is_inner})
      endif()
    elseif(NOT line STREQUAL "#define _GNU_SOURCE")
      string(APPEND text "${line}\n")
    endif()
  endwhile()
  string(APPEND text "\n")
  set(written ${written} PARENT_SCOPE)
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Removes repeated empty lines, and writes a file.
function(finish name)
  while(text MATCHES "\n\n\n")
    string(REPLACE "\n\n\n" "\n\n" text "${text}")
  endwhile()
  string(REGEX REPLACE "\n+$" "\n" text "${text}")
  file(WRITE ${FOLDER}/${name} "${text}")
endfunction()

file(READ ${LICENSE} license)
string(REGEX REPLACE "\n+$" "" license "${license}")
string(REPLACE "\n" "\n * " license "${license}")
string(REGEX REPLACE " +\n" "\n" license "${license}")

function(begin what)
  set(text "/*
 * ${what}
 * Duologue ${VERSION}, made from runtime/c. Do not edit.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ${license}
 */
" PARENT_SCOPE)
endfunction()

begin("duologue.h: the headers of Duologue's C runtime in one file.")
string(APPEND text "#ifndef DUO_AMALGAMATION\n#define DUO_AMALGAMATION\n\n")
foreach(header IN LISTS HEADERS)
  set(file ${ROOT}/include/${header})
  if(NOT file IN_LIST written)
    expand(${file} FALSE)
  endif()
endforeach()
string(APPEND text "#endif\n")
finish(duologue.h)

begin("duologue.c: Duologue's C runtime in one file. Compile it together with the program.")
# Before anything is included: some declarations of the C library exist only with this macro.
string(APPEND text "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n\n#include \"duologue.h\"\n\n")
foreach(source IN LISTS SOURCES)
  expand(${ROOT}/${source} FALSE)
endforeach()
finish(duologue.c)
