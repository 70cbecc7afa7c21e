# duologue_generate(TARGET target PROTOCOLS file... [IMPORT_DIRS directory...] [OPTIONS option...])
#
# Compiles protocols to C, adds the result to a target, and links the runtime to it. List all protocols of a program in one call,
# since their names are checked against each other. Relative paths are relative to the current source directory. OPTIONS are
# passed to `duologue gen`: lint levels (`-D never-ends`), `--c-prefix`, and so on. With `--remote` the target is also linked to
# Duologue::net, and with `--robots` to Duologue::robots.
#
# The compiler is searched for in PATH; set DUOLOGUE_EXECUTABLE to use another one.
#
# The generated code depends on every file that was read, including imported ones: editing one of them regenerates the
# code and makes CMake determine the list of files again. An error in a protocol stops the configuration or the build,
# and is shown as the compiler prints it.

function(duologue_generate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET" "PROTOCOLS;IMPORT_DIRS;OPTIONS")
  if(NOT arg_TARGET OR NOT arg_PROTOCOLS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "duologue_generate(TARGET target PROTOCOLS file... [IMPORT_DIRS directory...] [OPTIONS option...])")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT C IN_LIST languages)
    message(FATAL_ERROR "duologue_generate: the generated code is compiled as C, even for C++: add C to the LANGUAGES of project()")
  endif()
  if(NOT TARGET ${arg_TARGET})
    message(FATAL_ERROR "duologue_generate: there is no target ${arg_TARGET}: call add_executable or add_library first")
  endif()
  find_program(DUOLOGUE_EXECUTABLE duologue DOC "The Duologue protocol compiler")
  if(NOT DUOLOGUE_EXECUTABLE)
    message(FATAL_ERROR "duologue is not in PATH: `cargo install duologue-cli`, or set DUOLOGUE_EXECUTABLE")
  endif()

  # Generated code must match the headers that it includes.
  get_target_property(runtime Duologue::duologue DUOLOGUE_VERSION)
  execute_process(COMMAND ${DUOLOGUE_EXECUTABLE} --version OUTPUT_VARIABLE compiler RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${DUOLOGUE_EXECUTABLE} does not run: ${failed}; set DUOLOGUE_EXECUTABLE")
  endif()
  string(REGEX REPLACE "^[^0-9]*([0-9.]+).*$" "\\1" compiler "${compiler}")
  string(REGEX MATCH "^[0-9]+[.][0-9]+[.]" line "${runtime}")
  string(FIND "${compiler}" "${line}" at)
  if(NOT at EQUAL 0)
    message(FATAL_ERROR
      "${DUOLOGUE_EXECUTABLE} is version ${compiler}, the runtime is version ${runtime}: install the same version of both")
  endif()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.protocols)
  set(depfile ${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.protocols.d)
  set(protocols)
  foreach(protocol IN LISTS arg_PROTOCOLS)
    cmake_path(ABSOLUTE_PATH protocol NORMALIZE)
    if(NOT EXISTS ${protocol})
      message(FATAL_ERROR "duologue_generate: PROTOCOLS names ${protocol}, which does not exist")
    endif()
    list(APPEND protocols ${protocol})
  endforeach()
  set(options ${arg_OPTIONS})
  foreach(directory IN LISTS arg_IMPORT_DIRS)
    cmake_path(ABSOLUTE_PATH directory NORMALIZE)
    if(NOT IS_DIRECTORY ${directory})
      message(FATAL_ERROR "duologue_generate: IMPORT_DIRS names ${directory}, which is not a directory")
    endif()
    list(APPEND options -I ${directory})
  endforeach()
  set(generate ${DUOLOGUE_EXECUTABLE} gen ${protocols} --c ${folder} ${options})

  # Only the compiler knows which files it generates, so it runs once during configuration.
  execute_process(COMMAND ${generate} --quiet --clean --depfile ${depfile} RESULT_VARIABLE failed ERROR_VARIABLE findings)
  if(failed)
    # CMake rewraps a FATAL_ERROR as prose, which would misplace the markers below source lines.
    message(NOTICE "${findings}")
    message(FATAL_ERROR "duologue gen failed for ${arg_TARGET}: see above")
  endif()
  execute_process(COMMAND ${generate} --quiet --list-outputs OUTPUT_VARIABLE outputs COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n$" "" outputs "${outputs}")
  string(REPLACE "\n" ";" outputs "${outputs}")

  # The depfile lists the files that were read after the colon.
  file(READ ${depfile} read)
  string(REGEX REPLACE "^.*: \\\\\n" "" read "${read}")
  string(REGEX REPLACE " \\\\\n *|\n" ";" read "${read}")
  foreach(file IN LISTS read)
    string(STRIP "${file}" file)
    if(file)
      string(REPLACE "\\ " " " file "${file}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    endif()
  endforeach()

  # A file that has not changed keeps its timestamp, so a build would consider it out of date.
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${generate} --quiet --depfile ${depfile}
    COMMAND ${CMAKE_COMMAND} -E touch ${outputs}
    DEPENDS ${protocols} ${DUOLOGUE_EXECUTABLE}
    DEPFILE ${depfile}
    COMMENT "Compiling protocols for ${arg_TARGET}"
    VERBATIM)
  target_sources(${arg_TARGET} PRIVATE ${outputs})
  target_include_directories(${arg_TARGET} PUBLIC ${folder})
  target_link_libraries(${arg_TARGET} PUBLIC Duologue::duologue)
  if("--remote" IN_LIST arg_OPTIONS)
    target_link_libraries(${arg_TARGET} PUBLIC Duologue::net)
  endif()
  if("--robots" IN_LIST arg_OPTIONS)
    target_link_libraries(${arg_TARGET} PUBLIC Duologue::robots)
  endif()
  # Endpoints of the wrong state must not compile: before GCC 14 these are only warnings.
  target_compile_options(${arg_TARGET} PRIVATE
    $<$<COMPILE_LANG_AND_ID:C,GNU,Clang,AppleClang>:-Werror=incompatible-pointer-types>
    $<$<COMPILE_LANG_AND_ID:C,GNU,Clang,AppleClang>:-Werror=implicit-function-declaration>)
endfunction()
