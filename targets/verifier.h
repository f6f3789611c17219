// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs on the CPU in every way that there is, and counts what they do by every reader, so that values and
// amounts can be compared.

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

// What became of one program.
struct Execution {
  std::vector<lower::NamedValues> outputs;  // by way to run it
  Amounts run, simulated;                   // what it does as it runs; what the simulator counts
  bool counters_equal = false;              // in everything that both count, of which the amounts are totals
};

class Verifier {
 public:
  virtual ~Verifier() = default;

  // Why no program can run on this machine, in a sentence; nothing where programs can.
  virtual std::optional<std::string> why_unsupported() const = 0;
  // Iterations of a program that run() takes one by one, at the pace of a plain loop.
  virtual double slow_points(const tile::RProgram& program) const = 0;
  // Takes a program; its number, or nothing after errors where it cannot run on the chip.
  virtual std::optional<int> add(const tile::RProgram& program, base::Diagnostics& diags, base::Position at) = 0;
  // The same of kernels that no program is lowered to; of a class that has none, nothing.
  virtual std::optional<int> add_kernels(lower::Module /*kernels*/) { return std::nullopt; }
  // Compiles all programs that were added, on at most `jobs` cores; returns why none can run.
  virtual std::optional<std::string> compile(int jobs) = 0;
  // What the model takes the amounts for, those that it knows; nothing where it has no time for the program,
  // and of kernels.
  virtual std::optional<Amounts> modelled(int number) const = 0;
  // Some elements of every output, of each core's part some, drawn; plain loops of them take about `points`, or more
  // where there are many parts. Asked only where not all points are slow.
  virtual Elements sample(int /*number*/, double /*points*/, std::uint64_t /*seed*/) const { return {}; }
  // Throws std::runtime_error where it does not run to its end.
  virtual Execution run(int number, const lower::NamedValues& inputs, std::uint64_t seed) = 0;
};

}  // namespace tilescope::targets
