# SPDX-License-Identifier: Apache-2.0
# One folder is one static library of the same name; experiments/store is experiments_store.
#
#   tilescope_folder(tile SOURCES program.cc ... LINKS base arch expr [PRIVATE_LINKS ...])
#
# Includes are written from the repository's root, so every target sees it and nothing else.

add_library(tilescope_flags INTERFACE)
target_include_directories(tilescope_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tilescope_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
# Messages about bugs name files of the tree; what is installed holds no path of the build.
target_compile_options(tilescope_flags INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
# g++'s warnings are errors, but for those that its sanitizers make it see. clang only fuzzes and warns of g++'s own
# headers (deprecated parts of <algorithm>).
if(NOT TILESCOPE_SANITIZE)
  target_compile_options(tilescope_flags INTERFACE $<IF:$<CXX_COMPILER_ID:GNU>,-Werror,-Wno-deprecated-declarations>)
endif()
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

# What most sources include is parsed once. A source still includes what it uses: tools/check_includes.py and the fuzz
# targets read it without.
option(TILESCOPE_PCH "Precompile headers of the standard library and of fmt" ON)
set(TILESCOPE_PRECOMPILED
  <algorithm> <array> <bit> <charconv> <cmath> <cstddef> <cstdint> <cstdlib> <cstring> <deque> <filesystem> <functional>
  <limits> <map> <memory> <numeric> <optional> <set> <span> <stdexcept> <string> <string_view> <tuple> <utility> <variant>
  <vector> <fmt/format.h> <fmt/ranges.h>)

# tilescope_precompile(TARGET PRIVATE headers...) or, of the same options, tilescope_precompile(TARGET REUSE_FROM OTHER)
function(tilescope_precompile target)
  if(TILESCOPE_PCH AND NOT TILESCOPE_FUZZ)
    # -fpch-preprocess is for ccache. g++ 12 takes precompiled headers for the source's own, and warns of their strings.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
      $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()

# Whose headers the folders use that link the same libraries as to options: none, or OpenMP.
function(tilescope_headers name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/headers.cc)
  target_link_libraries(${name} PRIVATE tilescope_flags ${ARGN})
  tilescope_precompile(${name} PRIVATE ${TILESCOPE_PRECOMPILED})
endfunction()
find_package(fmt REQUIRED GLOBAL)
tilescope_headers(tilescope_headers fmt::fmt)

function(tilescope_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tilescope_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  if(OpenMP::OpenMP_CXX IN_LIST ARG_PRIVATE_LINKS)
    tilescope_precompile(${name} REUSE_FROM tilescope_openmp_headers)
  else()
    tilescope_precompile(${name} REUSE_FROM tilescope_headers)
  endif()
endfunction()
