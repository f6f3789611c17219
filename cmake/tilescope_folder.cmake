# SPDX-License-Identifier: Apache-2.0
# One folder is one static library of the same name; experiments/store is experiments_store.
#
#   tilescope_folder(tile SOURCES program.cc ... LINKS base arch expr [PRIVATE_LINKS ...])
#
# Includes are written from the repository's root, so every target sees it and nothing else.

add_library(tilescope_flags INTERFACE)
target_include_directories(tilescope_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tilescope_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
# g++'s warnings are errors. clang only fuzzes and warns of g++'s own headers (deprecated parts of <algorithm>).
target_compile_options(tilescope_flags INTERFACE $<IF:$<CXX_COMPILER_ID:GNU>,-Werror,-Wno-deprecated-declarations>)
# g++ 12 sees overlapping copies in std::string concatenations that have none (its bug 105651).
target_compile_options(tilescope_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# g++ 12 takes members of a variant that are never alive for read, and freed, when one of them is moved.
target_compile_options(tilescope_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-use-after-free>)
if(TILESCOPE_SANITIZE)
  target_compile_options(tilescope_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tilescope_flags INTERFACE -fsanitize=address,undefined)
endif()
if(TILESCOPE_FUZZ)
  target_compile_options(tilescope_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(tilescope_flags INTERFACE -fsanitize=address,undefined)
endif()

function(tilescope_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tilescope_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()
