# Writes OUT, which names the contents of FILES (separated by commas): the libraries that a predicted or simulated time
# comes from. What they compute may change with them, so a store of sweeps keeps apart what different ones computed.

string(REPLACE "," ";" files "${FILES}")
set(contents "")
foreach(file IN LISTS files)
  file(SHA256 "${file}" content)
  string(APPEND contents "${content}")
endforeach()
string(SHA256 version "${contents}")
string(SUBSTRING "${version}" 0 12 version)
file(WRITE "${OUT}" "// Written by cmake/results_version.cmake.
#include \"experiments/sweep.h\"

namespace tilescope::experiments {

std::string results_version() { return \"${version}\"; }

}  // namespace tilescope::experiments
")
