// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements of matrix instructions as calls of the prelude, and the tensor memory of kernels that add up there.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cuda/detail/formula.h"
#include "backends/cuda/detail/matrices.h"
#include "backends/cuda/detail/names.h"
#include "backends/cuda/detail/page.h"
#include "lower/kernel.h"

namespace tilescope::cuda {

class Products {
 public:
  // All outlive it.
  Products(const lower::Kernel& kernel, const KernelNames& names, const Formulas& formulas,
           const MatrixDefinitions& matrices, Page& page)
      : kernel_(kernel), names_(names), formulas_(formulas), matrices_(matrices), page_(page) {}

  void operator()(const lower::Mma& m);
  void operator()(const lower::Wgmma& m);
  void operator()(const lower::WgmmaFence& f);
  void operator()(const lower::WgmmaCommitWait& w);
  // `issuer`: the condition of the thread that issues it.
  void operator()(const lower::Tcgen05Mma& m, const std::string& issuer);
  void operator()(const lower::Tcgen05Load& l);

  // Tensor memory of a block, whose arrays get their names, and its end. Nothing in kernels without.
  void allocate();
  void free();
  // Bytes of the CPU's scratchpad that stand for it, from a multiple of 16 on.
  std::int64_t tensor_bytes() const;

 private:
  const lower::Buffer& buffer(const lower::Access& a) const {
    return kernel_.buffers[static_cast<std::size_t>(a.buffer)];
  }
  const std::string& name(int buffer) const { return names_.buffers[static_cast<std::size_t>(buffer)]; }
  // "&A_tile[step*64], 512, 8"
  std::string factor(const lower::SharedOperand& f, std::string_view end) const;
  // All conditions as one argument.
  std::string adds(const std::vector<lower::Guard>& guards) const;
  // ", 128, 128" where rows are swizzled.
  static std::string rows(std::int64_t a, std::int64_t b);
  // "C_sums + step*64"
  std::string column(const lower::Access& a) const;
  // Columns of the block's allocation.
  std::int64_t allocated() const;

  const lower::Kernel& kernel_;
  const KernelNames& names_;
  const Formulas& formulas_;
  const MatrixDefinitions& matrices_;
  Page& page_;
  std::optional<std::size_t> first_;  // array in tensor memory, from which others count
};

}  // namespace tilescope::cuda
