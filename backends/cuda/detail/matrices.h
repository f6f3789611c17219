// SPDX-License-Identifier: Apache-2.0
#pragma once
// The matrix instructions of a module's kernels and the rows that their lanes load together, as the text defines them:
// for a chip by what its dialect calls them, for the CPU by where in the matrices each lane's elements are.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/detail/names.h"
#include "backends/cuda/detail/ptx.h"
#include "backends/cuda/emit.h"

namespace tilescope::cuda {

class MatrixDefinitions {
 public:
  // Takes their names from the pool.
  MatrixDefinitions(const lower::Module& module, NamePool& pool);

  // What the text calls an instruction of one of the module's kernels, or the rows of one of their loads.
  const std::string& name_of(const lower::MatrixInstruction& instruction) const;
  const std::string& name_of(const lower::Kernel& kernel, const lower::LoadMatrix& load) const;
  std::vector<std::string> names() const;
  // The definitions.
  std::string text(Dialect dialect) const;
  // What the dialect cannot say, a sentence each.
  std::vector<std::string> refusals(Dialect dialect) const;

 private:
  struct Instruction {
    lower::MatrixInstruction what;
    std::string name;
  };
  struct Rows {
    RowLoad what;
    std::string name;
  };
  // So many columns of an instruction that reads the scratchpad, and whether the rows of its factors run along m or n.
  struct Staged {
    std::size_t instruction = 0;
    std::int64_t columns = 0;
    bool along_m = false, along_n = false;
    bool held = false;    // lanes hold the first factor
    bool issued = false;  // by one thread, with sums in tensor memory

    bool operator==(const Staged&) const = default;
  };

  // Whether one thread issues it.
  bool is_issued(const Instruction& i) const;
  void add(const lower::Kernel& kernel, const lower::Statement& statement, NamePool& pool);
  std::size_t add(const lower::MatrixInstruction& instruction, NamePool& pool);

  std::vector<Instruction> instructions_;
  std::vector<Rows> rows_;
  std::vector<Staged> staged_;
  // Loads of tensor memory: columns, and what their sums are.
  struct TensorLoad {
    std::int64_t columns = 0;
    base::Dtype sums{};

    bool operator==(const TensorLoad&) const = default;
  };
  std::vector<TensorLoad> loads_;
};

}  // namespace tilescope::cuda
