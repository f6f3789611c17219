#include "lower/matrix_layout.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilescope::lower {
namespace {

using base::Dtype;

struct Multiplication {
  MatrixShape shape;
  Dtype elements, sums;
};
constexpr std::array<Multiplication, 5> kMultiplications = {{{{16, 8, 8}, Dtype::kF16, Dtype::kF32},
                                                             {{16, 8, 16}, Dtype::kF16, Dtype::kF32},
                                                             {{16, 8, 16}, Dtype::kBf16, Dtype::kF32},
                                                             {{16, 8, 8}, Dtype::kTf32, Dtype::kF32},
                                                             {{16, 8, 32}, Dtype::kI8, Dtype::kI32}}};

// Four lanes share eight rows of a, columns of b or rows of d.
constexpr std::int64_t kSharing = 4;

}  // namespace

MatrixPlace place_in_a(std::int64_t lane, std::int64_t n, std::int64_t element_bytes) {
  const std::int64_t each = kMatrixRegisterBytes / element_bytes, word = n / each;
  return {lane / kSharing + word % 2 * kMatrixRows, (word / 2 * kSharing + lane % kSharing) * each + n % each};
}

MatrixPlace place_in_b(std::int64_t lane, std::int64_t n, std::int64_t element_bytes) {
  const std::int64_t each = kMatrixRegisterBytes / element_bytes, word = n / each;
  return {(word * kSharing + lane % kSharing) * each + n % each, lane / kSharing};
}

MatrixPlace place_in_d(std::int64_t lane, std::int64_t n) {
  return {lane / kSharing + n / 2 * kMatrixRows, lane % kSharing * 2 + n % 2};
}

bool is_known(const MatrixShape& s, Dtype elements, Dtype sums) {
  return std::any_of(kMultiplications.begin(), kMultiplications.end(),
                     [&](const Multiplication& m) { return m.shape == s && m.elements == elements && m.sums == sums; });
}

std::string known_multiplications() {
  std::string out;
  for (const Multiplication& m : kMultiplications)
    out += fmt::format("{}{}x{}x{} ({} into {})", out.empty() ? "" : ", ", m.shape.m, m.shape.n, m.shape.k,
                       base::name_of(m.elements), base::name_of(m.sums));
  return out;
}

}  // namespace tilescope::lower
