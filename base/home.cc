// SPDX-License-Identifier: Apache-2.0
#include "base/home.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tilescope::base {
namespace {

namespace fs = std::filesystem;

// Folders of the file that this code was loaded from, a program or a library, and of the running program.
std::vector<fs::path> folders() {
  std::vector<fs::path> out;
  std::error_code none;
  Dl_info file;
  if (dladdr(reinterpret_cast<const void*>(&home_path), &file) != 0 && file.dli_fname != nullptr)
    out.push_back(fs::canonical(file.dli_fname, none).parent_path());
  out.push_back(fs::read_symlink("/proc/self/exe", none).parent_path());
  return out;
}

// Data beside an installed program or library; Debian's libraries are one folder deeper, a Python module is beside
// them.
std::optional<fs::path> installed_beside(const fs::path& folder) {
  std::error_code none;
  for (const char* share : {"share/tilescope", "../share/tilescope", "../../share/tilescope"})
    if (fs::exists(folder / share / "arch/devices", none)) return (folder / share).lexically_normal();
  return std::nullopt;
}

// A build names its source tree in a file.
std::optional<fs::path> built_in(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    std::ifstream named(folder / "tilescope_home.txt");
    std::string tree;
    if (std::getline(named, tree)) return tree;
  }
  return std::nullopt;
}

fs::path find_home() {
  for (const fs::path& folder : folders()) {
    if (const auto home = built_in(folder)) return *home;
    if (const auto home = installed_beside(folder)) return *home;
  }
  return folders().back() / "../share/tilescope";  // where it would be, for messages
}

}  // namespace

std::string home_path(std::string_view in_tree) {
  if (const char* home = std::getenv("TILESCOPE_HOME"); home != nullptr && *home != '\0')
    return (fs::path(home) / in_tree).string();
  static const fs::path found = find_home();
  return (found / in_tree).lexically_normal().string();
}

}  // namespace tilescope::base
