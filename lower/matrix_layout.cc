#include "lower/matrix_layout.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace tilescope::lower {
namespace {

using base::Dtype;

struct Multiplication {
  MatrixShape shape;
  Dtype elements, sums;
};
using Multiplications = std::span<const Multiplication>;
constexpr std::array<Multiplication, 5> kMultiplications = {{{{16, 8, 8}, Dtype::kF16, Dtype::kF32},
                                                             {{16, 8, 16}, Dtype::kF16, Dtype::kF32},
                                                             {{16, 8, 16}, Dtype::kBf16, Dtype::kF32},
                                                             {{16, 8, 8}, Dtype::kTf32, Dtype::kF32},
                                                             {{16, 8, 32}, Dtype::kI8, Dtype::kI32}}};

constexpr std::array<Multiplication, 3> kStaged = {{{{64, 8, 16}, Dtype::kF16, Dtype::kF32},
                                                    {{64, 8, 16}, Dtype::kBf16, Dtype::kF32},
                                                    {{64, 8, 8}, Dtype::kTf32, Dtype::kF32}}};

bool is_among(Multiplications all, const MatrixShape& s, Dtype elements, Dtype sums) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Multiplication& m) { return m.shape == s && m.elements == elements && m.sums == sums; });
}

std::string words_of(Multiplications all) {
  std::string out;
  for (const Multiplication& m : all)
    out += fmt::format("{}{}x{}x{} ({} into {})", out.empty() ? "" : ", ", m.shape.m, m.shape.n, m.shape.k,
                       base::name_of(m.elements), base::name_of(m.sums));
  return out;
}

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
  constexpr std::int64_t kOfFragment = 4, kRowsOfWarp = 2 * kMatrixRows, kColumns = 8;
  const std::int64_t warp = lane / kMatrixLanes, fragment = n / kOfFragment, in_warp = lane % kMatrixLanes;
  return {warp * kRowsOfWarp + in_warp / kSharing + n % kOfFragment / 2 * kMatrixRows,
          fragment * kColumns + in_warp % kSharing * 2 + n % 2};
}

bool is_known(const MatrixShape& s, Dtype elements, Dtype sums) {
  return is_among(kMultiplications, s, elements, sums);
}
std::string known_multiplications() { return words_of(kMultiplications); }

bool is_known_staged(const MatrixShape& s, Dtype elements, Dtype sums) { return is_among(kStaged, s, elements, sums); }
std::string known_staged_multiplications() { return words_of(kStaged); }

}  // namespace tilescope::lower
