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
