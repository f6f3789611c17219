// SPDX-License-Identifier: Apache-2.0
#pragma once
// The system's C++ compiler, and the objects and programs that it has made from emitted text: named after the contents
// they come from, in a folder that many processes share.

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/host_run.h"

namespace tilescope::cuda {

// One translation unit, compiled.
struct Object {
  std::string path;
  std::string error;  // the compiler's errors; empty where the object exists

  bool ok() const { return error.empty(); }
};

class Toolchain {
 public:
  explicit Toolchain(std::string cache_folder);

  // Why nothing can be compiled here; nothing where compilation is possible.
  const std::optional<std::string>& why_unsupported() const { return refusal_; }

  // Compiles translation units of kernels, at most `jobs` at a time; returns their objects in order. Units that are in
  // the cache are not compiled again.
  std::vector<Object> compile(HostBuild build, const std::vector<std::string>& units, int jobs) const;

  // Links the runtime and objects of kernels, given by their paths; returns the program's path, or an empty one and the
  // error in `why`.
  std::string link(HostBuild build, const std::vector<std::string>& objects, std::string& why) const;

 private:
  std::string name_of(HostBuild build, const std::string& text) const;
  std::vector<Object> compile(HostBuild build, const std::vector<std::string>& flags,
                              const std::vector<std::string>& units, int jobs) const;

  std::string folder_;
  std::vector<std::string> compiler_;  // with its options
  std::string identity_;               // of the compiler and the runtime's sources
  std::optional<std::string> refusal_;
};

}  // namespace tilescope::cuda
