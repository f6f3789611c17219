#pragma once
// Which elements of the matrices of a MultiplyMatrices the lanes of a warp hold: the fragments of PTX's mma.m16n8k8,
// m16n8k16 and m16n8k32 (PTX ISA, "Matrix Fragments for mma").

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "lower/kernel.h"

namespace tilescope::lower {

inline constexpr std::int64_t kMatrixLanes = 32;         // that multiply together: a warp of PTX
inline constexpr std::int64_t kMatrixRegisterBytes = 4;  // of one register of a fragment
inline constexpr std::int64_t kMatrixRowBytes = 16;      // of a row of a matrix that LoadMatrices reads
inline constexpr std::int64_t kMatrixRows = 8;           // of it

struct MatrixPlace {
  std::int64_t row = 0, column = 0;

  bool operator==(const MatrixPlace&) const = default;
};

// The element that is a lane's n-th of a (m x k), b (k x n) or d (m x n). Elements of a and b have so many bytes.
MatrixPlace place_in_a(std::int64_t lane, std::int64_t n, std::int64_t element_bytes);
MatrixPlace place_in_b(std::int64_t lane, std::int64_t n, std::int64_t element_bytes);
MatrixPlace place_in_d(std::int64_t lane, std::int64_t n);

// How many of so many elements a lane holds.
constexpr std::int64_t lane_elements(std::int64_t elements) { return elements / kMatrixLanes; }

// Whether there is a multiplication of fragments of that shape, from elements of one dtype into sums of the other.
bool is_known(const MatrixShape& s, base::Dtype elements, base::Dtype sums);
// All that there are, for messages: "16x8x16 (f16 into f32), ...".
std::string known_multiplications();

}  // namespace tilescope::lower
