#pragma once
// Which elements of the matrices of a MultiplyMatrices the lanes of a warp hold: the fragments of PTX's mma.m16n8k8,
// m16n8k16 and m16n8k32 (PTX ISA, "Matrix Fragments for mma"); and those of d that a group's lanes hold of a
// MultiplyStaged, wgmma.m64nNk8 and m64nNk16 ("Register Fragments for wgmma").

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
// Lanes beyond a warp's hold the next sixteen rows, elements beyond a fragment's the next eight columns.
MatrixPlace place_in_d(std::int64_t lane, std::int64_t n);

// How many of so many elements a lane of a warp holds.
constexpr std::int64_t lane_elements(std::int64_t elements) { return elements / kMatrixLanes; }

inline constexpr std::int64_t kGroupLanes = 128;  // of a MultiplyStaged
inline constexpr std::int64_t kGroupMostColumns = 256;

// Whether a group multiplies such fragments (n: of one of them, eight columns) from the scratchpad.
bool is_known_staged(const MatrixShape& s, base::Dtype elements, base::Dtype sums);
std::string known_staged_multiplications();

// Whether there is a multiplication of fragments of that shape, from elements of one dtype into sums of the other.
bool is_known(const MatrixShape& s, base::Dtype elements, base::Dtype sums);
// All that there are, for messages: "16x8x16 (f16 into f32), ...".
std::string known_multiplications();

}  // namespace tilescope::lower
