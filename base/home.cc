// SPDX-License-Identifier: Apache-2.0
#include "base/home.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tilescope::base {

std::string home_path(std::string_view in_tree) {
  namespace fs = std::filesystem;
  if (const char* home = std::getenv("TILESCOPE_HOME"); home != nullptr && *home != '\0')
    return (fs::path(home) / in_tree).string();
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const char* home : {"..", "../share/tilescope"}) {
    const fs::path path = program / home / in_tree;
    if (fs::exists(path, none)) return path.lexically_normal().string();
  }
  return (fs::path(TILESCOPE_SOURCE_DIR) / in_tree).string();
}

}  // namespace tilescope::base
