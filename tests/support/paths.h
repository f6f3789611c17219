// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where tests find files: the source tree, the large data beside it, the binary.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace tilescope::tests {

// A file or folder of the source tree, by its path from the root.
inline std::filesystem::path source_path(std::string_view path) {
  return std::filesystem::path(TILESCOPE_SOURCE_FOLDER) / path;
}

// A file of the large data ($TILESCOPE_SHARED at run time, else the folder `shared` beside the source tree), or nothing
// where it is not there; a test then skips.
inline std::optional<std::filesystem::path> shared_path(std::string_view path) {
  const char* chosen = std::getenv("TILESCOPE_SHARED");
  std::filesystem::path found = std::filesystem::path(chosen ? chosen : TILESCOPE_SHARED_FOLDER) / path;
  if (!std::filesystem::exists(found)) return std::nullopt;
  return found;
}

// The command-line program of this build.
inline std::filesystem::path binary_path() { return TILESCOPE_BINARY; }

// What runs plans on a GPU, beside it; and the folder of the driver that needs none (tests/support/fake_driver).
inline std::filesystem::path gpu_worker_path() { return binary_path().parent_path() / "tilescope_gpu"; }
inline std::filesystem::path fake_driver_path() { return TILESCOPE_FAKE_DRIVER; }

}  // namespace tilescope::tests
