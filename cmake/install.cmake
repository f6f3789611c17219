# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies, by component: tools (programs), library (libtilescope.so), data (devices, suites,
# networks, schemas, sources that kernels are compiled with, the report's page), devel (headers, CMake and pkg-config
# files), systemc, python. Nothing of it holds a path of the build, and a moved prefix works.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(data ${CMAKE_INSTALL_DATADIR}/tilescope)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tilescope)

# Libraries of two versions would stand beside each other in a prefix, with the data of the one that came last.
string(REGEX MATCH "^[0-9]+\\.[0-9]+" interface ${PROJECT_VERSION})
file(WRITE ${PROJECT_BINARY_DIR}/version.txt "${PROJECT_VERSION}\n")
foreach(component tools library data)
  install(CODE "
    set(version \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${data}/version.txt\")
    if(EXISTS \"\${version}\")
      file(STRINGS \"\${version}\" there)
      if(NOT \"\${there}\" MATCHES \"^${interface}[.]\")
        message(FATAL_ERROR \"\${CMAKE_INSTALL_PREFIX} has Tilescope \${there}, and this is ${PROJECT_VERSION}: \"
                            \"two versions in one prefix would share data. Remove that one first, or choose another prefix.\")
      endif()
    endif()" COMPONENT ${component})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/version.txt DESTINATION ${data} COMPONENT data)

install(TARGETS tilescope tilescope_gpu RUNTIME COMPONENT tools)
set(completion ${PROJECT_SOURCE_DIR}/cli/completion)
install(FILES ${completion}/tilescope.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME tilescope COMPONENT tools)
install(FILES ${completion}/_tilescope DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tools)
install(FILES ${completion}/tilescope.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  COMPONENT tools)
# Written by tools/manual.sh where help2man is installed.
install(DIRECTORY ${PROJECT_BINARY_DIR}/man DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT tools OPTIONAL)
# The documents, with the files that the tutorial's commands name.
set(documents ${CMAKE_INSTALL_DATADIR}/doc/tilescope)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/CITATION.cff
  DESTINATION ${documents} COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${documents} COMPONENT tools)
install(TARGETS libtilescope EXPORT tilescopeTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT devel
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# At the places that they have in the tree, as base/home.h looks for them.
foreach(folder arch/devices energy/technology expr/suites graph/networks experiments/data/published
        experiments/data/measured backends/cuda/host)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${data}/${parent} COMPONENT data)
endforeach()
foreach(file arch/schema.json expr/suite.schema.json graph/network.schema.json experiments/sweep/schema.json
        import/ramulator2_presets.yaml)
  get_filename_component(parent ${file} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${file} DESTINATION ${data}/${parent} COMPONENT data)
endforeach()
if(TILESCOPE_WITH_WEB)
  install(FILES ${PROJECT_BINARY_DIR}/web/report.html DESTINATION ${data}/build/web COMPONENT data OPTIONAL)
endif()

file(RELATIVE_PATH pc_libdir /${CMAKE_INSTALL_PREFIX} /${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/tilescope.pc.in ${PROJECT_BINARY_DIR}/tilescope.pc @ONLY)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tilescopeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tilescopeConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilescopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
set(config ${PROJECT_BINARY_DIR}/tilescopeConfig.cmake ${PROJECT_BINARY_DIR}/tilescopeConfigVersion.cmake)
set(headers ${PROJECT_SOURCE_DIR}/include/tilescope)
install(FILES ${headers}/tilescope.h ${headers}/tilescope.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilescope
  COMPONENT devel)
install(EXPORT tilescopeTargets NAMESPACE tilescope:: DESTINATION ${package} COMPONENT devel)
install(FILES ${config} DESTINATION ${package} COMPONENT devel)
install(FILES ${PROJECT_BINARY_DIR}/tilescope.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)

install(FILES ${config} DESTINATION ${package} COMPONENT systemc)
install(FILES ${headers}/dram_plugin.h ${headers}/systemc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilescope
  COMPONENT systemc)
install(TARGETS tilescope_systemc ARCHIVE COMPONENT systemc)

if(TARGET tilescope_python)
  install(TARGETS tilescope_python LIBRARY DESTINATION lib/python3/dist-packages/tilescope COMPONENT python)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/tilescope DESTINATION lib/python3/dist-packages COMPONENT python
    FILES_MATCHING PATTERN *.py PATTERN *.pyi PATTERN py.typed)
endif()
