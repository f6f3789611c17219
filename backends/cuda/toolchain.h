// SPDX-License-Identifier: Apache-2.0
#pragma once
// The system's C++ compiler, and what it has made of emitted text so far: objects and programs named after the contents
// they come from, in a folder that many processes share.

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/host_run.h"

namespace tilescope::cuda {

// One translation unit, compiled.
struct Object {
  std::string path;
  std::string error;  // what the compiler said against it; empty where the object is there

  bool ok() const { return error.empty(); }
};

class Toolchain {
 public:
  explicit Toolchain(std::string cache_folder);

  // Why nothing can be compiled here.
  const std::optional<std::string>& why_unsupported() const { return refusal_; }

  // The objects of translation units of kernels, in order. Compiles only what is not kept from before, at most `jobs`
  // at a time.
  std::vector<Object> compile(HostBuild build, const std::vector<std::string>& units, int jobs) const;

  // The path of a program made of the runtime and objects of kernels, which are named by their paths; empty after an
  // error, which is then in `why`.
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
