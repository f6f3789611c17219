// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs on the CPU in every way that there is, and counts them by the simulator, so that values and accesses
// can be compared.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/reference.h"
#include "lower/counters.h"
#include "lower/kernel.h"

namespace tilescope::targets {

// What became of one module.
struct Execution {
  std::vector<std::vector<expr::Values>> values;      // by way to run it, then by Module::globals
  std::vector<lower::KernelCounters> run, simulated;  // by kernel: what the emitted text accesses, and the simulator
};

class Verifier {
 public:
  virtual ~Verifier() = default;

  // Why no program can run on this machine, in a sentence; nothing where programs can.
  virtual std::optional<std::string> refusal() const = 0;
  // Takes note of a module, which lives as long as this; its number.
  virtual int add(const lower::Module& module) = 0;
  // Compiles all modules that were added, on at most `jobs` cores; returns why none can run.
  virtual std::optional<std::string> compile(int jobs) = 0;
  // `inputs` by Module::globals. Throws std::runtime_error where it does not run to its end.
  virtual Execution run(int number, const std::vector<double>& scalars, const std::vector<expr::Values>& inputs,
                        std::uint64_t seed) = 0;
};

}  // namespace tilescope::targets
