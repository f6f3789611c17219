# SPDX-License-Identifier: Apache-2.0
# Whatever makes a build faster where it is installed; nothing here changes what is built.

find_program(TILESCOPE_CCACHE ccache)
if(TILESCOPE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these it keeps nothing that is compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TILESCOPE_CCACHE})
endif()

include(CheckLinkerFlag)
foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} TILESCOPE_LINKS_WITH_${linker})
  if(TILESCOPE_LINKS_WITH_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

# Folders are compiled some files at a time: with CMAKE_UNITY_BUILD set to this. All files then take half the time, and
# one of them three times as long: who edits them may switch it off.
option(TILESCOPE_UNITY "Compile several files of a folder at a time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
