#pragma once
// The system's C++ compiler, and what it has made of emitted text so far: objects and programs named after the contents
// they come from, in a folder that many processes share.

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/host_run.h"

namespace tilescope::cuda {

// $TILESCOPE_CACHE, else tilescope in $XDG_CACHE_HOME, else in ~/.cache.
std::string default_cache_folder();

class Toolchain {
 public:
  explicit Toolchain(std::string cache_folder);

  // Why nothing can be compiled here.
  const std::optional<std::string>& refusal() const { return refusal_; }

  // The path of a program made of the runtime and these translation units; empty after an error, which is then in
  // `why`. Compiles only what was never compiled before.
  std::string program(HostBuild build, const std::vector<std::string>& units, std::string& why) const;

 private:
  std::string name_of(HostBuild build, const std::string& text) const;
  // Of translation units, compiled with these flags.
  std::vector<std::string> objects(HostBuild build, const std::vector<std::string>& flags,
                                   const std::vector<std::string>& units, std::string& why) const;

  std::string folder_;
  std::vector<std::string> compiler_;  // with its options
  std::string identity_;               // of the compiler and the runtime's sources
  std::optional<std::string> refusal_;
};

}  // namespace tilescope::cuda
