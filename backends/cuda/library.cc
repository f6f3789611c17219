// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>

#include <climits>

namespace tilescope::cuda {
namespace {

namespace fs = std::filesystem;

// Of which the empty one stands for the loader's own path.
std::vector<std::string> folders() {
  std::vector<std::string> out;
  const auto add = [&](const char* variable, std::string_view below) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') out.push_back(value + std::string(below));
  };
  add("TILESCOPE_CUDA_PATH", "");
  add("TILESCOPE_CUDA_PATH", "/lib64");
  add("CUDA_HOME", "/lib64");
  add("CUDA_PATH", "/lib64");
  out.emplace_back();
  out.emplace_back("/usr/local/cuda/lib64");
  return out;
}

// "a, b and c"
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return out;
}

// The file that was opened; where the loader searched, only it knows the folder.
std::string file_of(void* handle, const std::string& opened) {
  char origin[PATH_MAX + 1] = {};
  if (opened.find('/') != std::string::npos || dlinfo(handle, RTLD_DI_ORIGIN, origin) != 0) return opened;
  return origin + ("/" + opened);
}

std::string said_by_loader() {
  const char* said = dlerror();
  return said == nullptr ? "the loader gives no reason" : said;
}

// Whether the loader found no such file, and not one that something is wrong with.
bool is_missing(const std::string& name, std::string_view said) {
  return said.starts_with(name + ":") && said.find("No such file") != std::string_view::npos;
}

}  // namespace

Library::Library(const std::vector<std::string>& names) {
  for (const std::string& folder : folders())
    for (const std::string& name : names) {
      const std::string file = folder.empty() ? name : folder + "/" + name;
      std::error_code none;
      if (!folder.empty() && !fs::exists(file, none)) continue;
      handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) {
        path_ = file_of(handle_, file);
        refusal_.clear();
        return;
      }
      refusal_ = said_by_loader();
      if (!folder.empty() || !is_missing(name, refusal_)) return;
    }
  refusal_ = listed(names) + (names.size() == 1 ? " is" : " are") +
             " not in $TILESCOPE_CUDA_PATH, $CUDA_HOME/lib64, $CUDA_PATH/lib64, the loader's path or "
             "/usr/local/cuda/lib64";
}

void* Library::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

}  // namespace tilescope::cuda
