// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine of tiles that exchange, which computes values: every core has memory of its own, exchanges copy bytes from
// one to another, arithmetic reads and writes a core's own memory alone. It knows nothing of time.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "expr/reference.h"
#include "lower/bsp/supersteps.h"

namespace tilescope::ipu_sim {

// What a program does that no machine may: it reads a byte that nothing wrote, writes one twice in one exchange, reads
// what the same exchange brings, or addresses memory that the core does not have. The sentence says which core,
// superstep and tensor.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Counts {
  std::vector<std::int64_t> sent,
      received;                // bytes that cross the link, by core; arrange's where inputs are not prearranged
  std::int64_t delivered = 0;  // bytes that exchanges fill buffers with, those that the core had itself among them
  std::int64_t from_dram = 0, to_dram = 0;  // bytes, those of every receiver
  std::int64_t points = 0;                  // iterations computed
  std::int64_t memory = 0;                  // bytes of one core's memory up to the last that anything wrote
};

struct Result {
  std::vector<expr::Values> tensors;  // by Program::tensors: what was computed, gathered from its homes
  Counts counts;
};

enum class Arithmetic : std::uint8_t {
  kMatrices,  // sums of products by Eigen, whose order is its own, where their numbers allow it; all else by points
  kPoints,    // everything in the order of the plain loop
};

// Runs all stages. `inputs` by Program::tensors, empty of those that are computed; `scalars` by stage and scalar.
// Throws Fault.
Result run(const lower::bsp::Program& p, const std::vector<std::vector<double>>& scalars,
           const std::vector<expr::Values>& inputs, Arithmetic arithmetic = Arithmetic::kMatrices);

// Whether the sums of an expression of one stage are multiplied as matrices; points take a hundred times as long.
bool multiplies(const expr::Expression& e);

}  // namespace tilescope::ipu_sim
