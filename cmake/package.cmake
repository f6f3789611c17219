# SPDX-License-Identifier: Apache-2.0
# Debian packages and an archive, made by `cpack` in the build tree (./dev package): tilescope, libtilescope with the data,
# libtilescope-dev, python3-tilescope.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_NAME tilescope)
set(CPACK_PACKAGE_VENDOR Tilescope)
set(CPACK_PACKAGE_CONTACT "Tilescope <tilescope@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator and design-space explorer of accelerators")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_COMPONENTS_ALL tools library data devel systemc)
if(TARGET tilescope_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()

# A changelog and the licence, where Debian looks for them; nobody reads mail at the contact's host.
file(WRITE ${PROJECT_BINARY_DIR}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2026 Tilescope's authors
License: Apache-2.0

License: Apache-2.0
 /usr/share/common-licenses/Apache-2.0 has the text of the licence.
")
file(WRITE ${PROJECT_BINARY_DIR}/changelog "tilescope (${PROJECT_VERSION}) stable; urgency=low

  * CHANGELOG.md in the sources says what changed.

 -- Tilescope <tilescope@localhost>  Thu, 01 Jan 2026 00:00:00 +0000
")
execute_process(COMMAND gzip -9nf ${PROJECT_BINARY_DIR}/changelog)

# tilescope_package(GROUP NAME COMPONENTS... [DEPENDS text] [RECOMMENDS text] ABOUT sentence)
function(tilescope_package group name)
  cmake_parse_arguments(ARG "" "DEPENDS;RECOMMENDS;SECTION;ABOUT" "COMPONENTS" ${ARGN})
  string(TOUPPER ${group} GROUP)
  foreach(component IN LISTS ARG_COMPONENTS)
    string(TOUPPER ${component} COMPONENT)
    set(CPACK_COMPONENT_${COMPONENT}_GROUP ${group} PARENT_SCOPE)
  endforeach()
  set(CPACK_DEBIAN_${GROUP}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${GROUP}_PACKAGE_DEPENDS "${ARG_DEPENDS}" PARENT_SCOPE)
  if(ARG_RECOMMENDS)
    set(CPACK_DEBIAN_${GROUP}_PACKAGE_RECOMMENDS "${ARG_RECOMMENDS}" PARENT_SCOPE)
  endif()
  if(ARG_SECTION)
    set(CPACK_DEBIAN_${GROUP}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  endif()
  set(CPACK_DEBIAN_${GROUP}_DESCRIPTION "${ARG_ABOUT}" PARENT_SCOPE)
  list(GET ARG_COMPONENTS 0 first)
  install(FILES ${PROJECT_BINARY_DIR}/copyright ${PROJECT_BINARY_DIR}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${first})
  file(WRITE ${PROJECT_BINARY_DIR}/lintian/${name} "${name}: bogus-mail-host *\n${name}: bogus-mail-host-in-debian-changelog *\n")
  install(FILES ${PROJECT_BINARY_DIR}/lintian/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    COMPONENT ${first})
endfunction()

set(same "(= ${PROJECT_VERSION})")
tilescope_package(program tilescope COMPONENTS tools DEPENDS "libtilescope ${same}"
  ABOUT "The command line. Kernels are verified where a C++ compiler is installed.")
tilescope_package(shared libtilescope COMPONENTS library data SECTION libs
  ABOUT "The library, and the devices, suites and networks that come with it.")
tilescope_package(develop libtilescope-dev COMPONENTS devel systemc DEPENDS "libtilescope ${same}" SECTION libdevel
  ABOUT "Headers, CMake and pkg-config files, and SystemC modules.")
# Columns as arrays take numpy, DataFrames pandas; nothing else of the module does.
tilescope_package(module python3-tilescope COMPONENTS python DEPENDS "libtilescope ${same}, python3"
  RECOMMENDS "python3-numpy, python3-pandas" SECTION python ABOUT "The Python module.")
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_SHARED_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
include(CPack)
