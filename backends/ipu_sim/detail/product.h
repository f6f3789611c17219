// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of a block that sums products of two operands: a batch of matrices of rows x depth and depth x
// columns, gathered from the core's memory, multiplied by Eigen and added to its sums.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/ipu_sim/detail/access.h"
#include "backends/ipu_sim/detail/block.h"
#include "backends/ipu_sim/detail/cores.h"

namespace tilescope::ipu_sim {

// What products are multiplied and summed in.
enum class ProductNumbers : std::uint8_t {
  kF32,
  kF64,
  kWords,  // of 32 bits, modulo 2^32: int32 that wrap
};

// Nothing where the stage is no sum of products of two affine reads; where the accumulator rounds at every step
// otherwise than f32, f64 or wrapping int32 do; where an operand has values that its numbers lack.
std::optional<ProductNumbers> product_numbers(const expr::Expression& e, const expr::Stage& loops);

class Product {
 public:
  // Nothing where the stage has no product_numbers, or a buffer's dimensions are not neighbouring ones of its tensor.
  static std::optional<Product> of(const expr::Expression& e, const lower::bsp::Stage& s);

  // Returns the points that it computed. Sums are in any order.
  std::int64_t multiply(const Block& block, Cores& cores) const;

 private:
  Product() = default;
  template <class T>
  std::int64_t multiply_in(const Block& block, Cores& cores) const;

  ProductNumbers numbers_{};
  std::array<std::size_t, 2> reads_{};
  // Tile axes: spatial ones of both operands, of the left one or neither, of the right one; reduced ones.
  std::vector<std::size_t> batch_, rows_, columns_, depth_;
  std::vector<Access> accesses_;  // left, right, sums, result
};

}  // namespace tilescope::ipu_sim
