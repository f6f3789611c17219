// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVIDIA's compiler, found while the program runs: emitted text becomes code for a chip, and the compiler says how many
// registers it took. No chip is needed, no header and no toolkit to build this.

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/library.h"
#include "backends/cuda/ptxas_log.h"

namespace tilescope::cuda {

// Code for one target, as the driver loads it.
struct DeviceCode {
  std::string cubin;
  std::vector<KernelUsage> kernels;  // in the order of the compiler's log
  std::string error;                 // why there is none, in a sentence

  bool ok() const { return error.empty(); }
};

class DeviceCompiler {
 public:
  // What is compiled is kept in `cache_folder`, by text, options, target and version of the compiler; empty: the user's
  // own cache.
  explicit DeviceCompiler(const std::string& cache_folder = {});
  // Drops the least recently used of the cache, where this compiler added to it.
  ~DeviceCompiler();
  DeviceCompiler(const DeviceCompiler&) = delete;
  DeviceCompiler& operator=(const DeviceCompiler&) = delete;

  // Why nothing can be compiled, in a sentence; empty where it can. The rest is empty after a refusal.
  const std::string& why_unsupported() const { return refusal_; }
  const std::string& path() const { return library_.path(); }
  const std::string& version() const { return version_; }               // "13.0"
  const std::vector<std::string>& targets() const { return targets_; }  // "sm_75", ...

  // Why it has no such target, in a sentence; empty where it has. A target may end in a letter ("sm_90a"): the chip's
  // own instructions.
  std::string refusal_of(std::string_view target) const;

  // Any number of threads may compile side by side.
  DeviceCode compile(std::string_view text, std::string_view target) const;

 private:
  struct Functions;
  struct Built;
  Built build(std::string_view text, const std::vector<std::string>& options) const;

  Library library_;
  std::unique_ptr<const Functions> nvrtc_;  // nothing after a refusal
  std::string folder_, refusal_, version_;
  std::vector<std::string> targets_;
  mutable std::atomic<bool> added_ = false;
};

}  // namespace tilescope::cuda
