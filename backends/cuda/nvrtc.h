// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVIDIA's compiler NVRTC, loaded at run time: compiles emitted text to code for a chip and says how many registers the
// code takes. Needs no chip, and no header or toolkit to be built.

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
  std::string error;                 // why there is no code, as a sentence

  bool ok() const { return error.empty(); }
};

class DeviceCompiler {
 public:
  // Compiled code is cached in `cache_folder`, by text, options, target and version of the compiler; empty:
  // default_cache_folder().
  explicit DeviceCompiler(const std::string& cache_folder = {});
  // Drops the least recently used files of the cache, where this compiler added to it.
  ~DeviceCompiler();
  DeviceCompiler(const DeviceCompiler&) = delete;
  DeviceCompiler& operator=(const DeviceCompiler&) = delete;

  // Why nothing can be compiled, as a sentence; empty where compilation is possible. version() and targets() are empty
  // where it is not.
  const std::string& why_unsupported() const { return refusal_; }
  const std::string& path() const { return library_.path(); }
  const std::string& version() const { return version_; }               // "13.0"
  const std::vector<std::string>& targets() const { return targets_; }  // "sm_75", ...

  // Why the compiler lacks a target, as a sentence; empty where it has it. A target may end in a letter ("sm_90a"): the
  // chip's own instructions.
  std::string refusal_of(std::string_view target) const;

  // Compiles the text for a target. Any number of threads may call it at the same time.
  DeviceCode compile(std::string_view text, std::string_view target) const;

 private:
  struct Functions;
  struct Built;
  Built build(std::string_view text, const std::vector<std::string>& options) const;

  Library library_;
  std::unique_ptr<const Functions> nvrtc_;  // null after a refusal
  std::string folder_, refusal_, version_;
  std::vector<std::string> targets_;
  mutable std::atomic<bool> added_ = false;
};

}  // namespace tilescope::cuda
