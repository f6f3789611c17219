// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs with tiles that a test writes down, and the kernels that they become.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lower/lower.h"
#include "tests/support/document.h"

namespace tilescope::tests {

inline lower::Module lowered(const tile::RProgram& p, const arch::ArchSpec& chip) {
  base::Diagnostics diags;
  auto m = lower::lower(p, chip, diags);
  std::string all;
  for (const std::string& w : diags.sentences()) all += w + '\n';
  if (!m) throw std::runtime_error(all);
  return std::move(*m);
}

// A product of m, n and k by the A100's matrix instruction of the dtype, or by the one of that name of another chip:
// two warps, each 32 x 32 of a 64 x 32 block. `more` are further keys of the stage.
inline std::string matrix_product(const std::string& op, const std::string& dtype, const std::string& more = "",
                                  const std::string& instruction = "", const std::string& arch = "a100") {
  return R"({"arch":")" + arch + R"(","nodes":[{"expr":")" + op + R"(","sizes":{"m":128,"n":64,"k":128},"dtype":")" +
         dtype +
         R"(","tiles":{"smem":{"m":64,"n":32,"k":64}},"mapping":{"m":{"threads":2,"per_thread":32},"n":{"per_thread":32}},)" +
         R"("mma":{"name":")" + (instruction.empty() ? "mma." + dtype : instruction) + R"(","m":"m","n":"n","k":"k"})" +
         more + R"(}],"edges":[]})";
}

// A product of 128x64 blocks by one warp group of an H100 for each 64 rows, 32 deep; `more` are further keys of the
// stage.
inline std::string staged_product(const std::string& op, const std::string& dtype, const std::string& more = "") {
  return R"({"arch":"h100_pcie","nodes":[{"expr":")" + op + R"(","sizes":{"m":256,"n":64,"k":128},"dtype":")" + dtype +
         R"(","tiles":{"smem":{"m":128,"n":64,"k":32}},"mapping":{"m":{"threads":2,"per_thread":64},"n":{"per_thread":64}},)" +
         R"("mma":{"name":"wgmma.)" + dtype + R"(","m":"m","n":"n","k":"k"})" + more + R"(}],"edges":[]})";
}

// A matmul of 32x32 blocks by 64 threads, cached 8 deep, that has no edges; `more` are further keys of the stage.
inline std::string small_matmul(std::string_view more) {
  return R"({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":64,"n":64,"k":32},"dtype":"f32",
    "tiles":{"smem":{"m":32,"n":32,"k":8},"reg":{"m":4,"n":4}},
    "mapping":{"m":{"vthread":1,"threads":8,"per_thread":4},"n":{"vthread":2,"threads":8,"per_thread":2}},
    "cached":{"A":"smem","B":"smem"})" +
         std::string(more) + "}],\"edges\":[]}";
}

}  // namespace tilescope::tests
