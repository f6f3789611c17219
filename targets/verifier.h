// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs on the CPU in every available way, and counts their operations independently in the run, the simulator
// and the model, so that values and amounts can be compared.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "lower/expected_values.h"
#include "tile/program.h"

namespace tilescope::targets {

// Amounts by name, the same names for all programs of a chip.
using Amounts = std::vector<std::pair<std::string, double>>;

// Elements of tensors by name, each one once.
using Elements = std::map<std::string, std::vector<std::int64_t>>;

// The outcome of one program.
struct Execution {
  std::vector<lower::NamedValues> outputs;  // one entry for each way to run the program
  Amounts run, simulated;                   // counted as the program runs; counted by the simulator
  bool counters_equal = false;              // all counters that both have are equal; the amounts are their totals
};

class Verifier {
 public:
  virtual ~Verifier() = default;

  // Why no program can run on this computer, in a sentence; nullopt where programs can.
  virtual std::optional<std::string> why_unsupported() const = 0;
  // Iterations of a program that run() evaluates one by one, as slowly as a plain loop.
  virtual double slow_points(const tile::RProgram& program) const = 0;
  // Adds a program and returns its number, or nullopt after errors where it cannot run on the chip.
  virtual std::optional<int> add(const tile::RProgram& program, base::Diagnostics& diags, base::Position at) = 0;
  // The same for kernels without a program; nullopt for a class without kernels.
  virtual std::optional<int> add_kernels(lower::Module /*kernels*/) { return std::nullopt; }
  // Compiles all added programs on at most `jobs` cores. Returns why none can run, or nullopt.
  virtual std::optional<std::string> compile(int jobs) = 0;
  // The model's prediction of the amounts that it knows; nullopt where it has no estimate for the program, and for
  // kernels.
  virtual std::optional<Amounts> modelled(int number) const = 0;
  // Draws elements of every output, some from each core's part. Evaluating them by plain loops takes about `points`
  // iterations, or more where there are many parts. Called only where not all points are slow.
  virtual Elements sample(int /*number*/, double /*points*/, std::uint64_t /*seed*/) const { return {}; }
  // Throws std::runtime_error where the program does not run to its end.
  virtual Execution run(int number, const lower::NamedValues& inputs, std::uint64_t seed) = 0;
};

}  // namespace tilescope::targets
