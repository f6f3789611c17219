# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a source file with the functions of api/simulate/code_version.h: names of the contents of the
# libraries that times come from, and the version VERSION. SIMULATOR and OTHERS are their files, separated by commas.

function(contents_of files out)
  string(REPLACE "," ";" files "${files}")
  set(contents "")
  foreach(file IN LISTS files)
    file(SHA256 "${file}" content)
    string(APPEND contents "${content}")
  endforeach()
  set(${out} "${contents}" PARENT_SCOPE)
endfunction()

function(name_of contents out)
  string(SHA256 name "${contents}")
  string(SUBSTRING "${name}" 0 12 name)
  set(${out} "${name}" PARENT_SCOPE)
endfunction()

contents_of("${SIMULATOR}" simulator)
contents_of("${OTHERS}" others)
name_of("${simulator}" simulator_version)
name_of("${simulator}${others}" results_version)
file(WRITE "${OUT}" "// Written by cmake/code_version.cmake.
#include \"api/simulate/code_version.h\"

namespace tilescope::api {

std::string version() { return \"${VERSION}\"; }

std::string tool_version() { return version() + \"+\" + results_version(); }

std::string results_version() { return \"${results_version}\"; }

std::string simulator_version() { return \"${simulator_version}\"; }

}  // namespace tilescope::api
")
