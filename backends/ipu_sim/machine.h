// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes the values of a program on a machine of tiles that exchange data: every core has memory of its own,
// exchanges copy bytes from one to another, arithmetic reads and writes only its core's own memory. It does not model
// time.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "expr/reference.h"
#include "lower/bsp/supersteps.h"

namespace tilescope::ipu_sim {

// An illegal access of a program: it reads a byte that nothing wrote, writes a byte twice in one exchange, reads a byte
// that the same exchange writes, or addresses memory that the core does not have. The message says which core,
// superstep and tensor.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Counts {
  std::vector<std::int64_t> sent,
      received;                             // bytes over the link, by core; of prearranged inputs those of halos
  std::int64_t delivered = 0;               // bytes that exchanges write to buffers, copies within a core included
  std::int64_t from_dram = 0, to_dram = 0;  // bytes, counted once per receiver
  std::int64_t points = 0;                  // iterations computed
  std::int64_t memory = 0;                  // bytes of a core's memory up to the last written one, maximum over cores
};

struct Result {
  std::vector<expr::Values> tensors;  // by Program::tensors: computed values, gathered from their homes
  Counts counts;
};

enum class Arithmetic : std::uint8_t {
  kMatrices,  // sums of products by Eigen, in its own order, where their numbers allow it; all else as kPoints
  kPoints,    // everything in the order of the plain loop
};

// Runs all stages. `inputs` by Program::tensors, empty for those that are computed; `scalars` by stage and scalar.
// Throws Fault.
Result run(const lower::bsp::Program& p, const std::vector<std::vector<double>>& scalars,
           const std::vector<expr::Values>& inputs, Arithmetic arithmetic = Arithmetic::kMatrices);

// Whether kMatrices computes the sums of an expression of one stage as matrix products; kPoints takes a hundred times
// as long.
bool multiplies(const expr::Expression& e);

}  // namespace tilescope::ipu_sim
