// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs emitted kernels on the CPU with their text unchanged: one fiber for each thread of a block, in random orders, so
// that a kernel that works only by chance fails. Each run is a process of its own, so that a crash or a report of the
// address sanitizer loses that run alone.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "expr/reference.h"
#include "lower/counters.h"

namespace tilescope::cuda {

enum class HostBuild : std::uint8_t {
  kValues,    // with the address sanitizer: finds accesses outside arrays
  kCounting,  // counts every access by its address; finds races, and reads of elements that no thread wrote
};

struct HostRun {
  HostBuild build{};
  std::uint64_t seed = 1;  // of the orders of blocks and threads and the times at which asynchronous copies land
  std::vector<double> scalars;
  std::vector<expr::Values> globals;  // by Module::globals; only inputs need values
};

struct HostResult {
  std::string error;                            // the failure and its seed; empty on success
  std::vector<expr::Values> globals;            // all of them, after the last kernel
  std::vector<lower::KernelCounters> counters;  // by kernel; only of kCounting

  bool ok() const { return error.empty(); }
};

class HostCompiler {
 public:
  // Counts accesses by this chip's warps, device cache and scratchpad. Objects and programs are cached in
  // `cache_folder`; empty: $TILESCOPE_CACHE, else the user's own cache.
  explicit HostCompiler(const arch::ArchSpec& chip, const std::string& cache_folder = {});
  ~HostCompiler();
  HostCompiler(HostCompiler&&) noexcept;
  HostCompiler& operator=(HostCompiler&&) noexcept;

  // Why no kernel can run on this machine, as a sentence; nothing where kernels can run.
  std::optional<std::string> why_unsupported() const;

  // Registers a module; returns its id. Add all modules before the first run: they are compiled together, and a later
  // one costs another link.
  int add(const lower::Module& module);

  // Compiles the modules added since the last call, on at most `jobs` cores; returns why no module can run, or nothing.
  // A module that the compiler refuses fails alone, in its runs. Without this call, run() compiles on all cores.
  std::optional<std::string> compile(HostBuild build, int jobs);

  HostResult run(int id, const HostRun& how);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope::cuda
