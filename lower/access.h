// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arrays that the statements of a Kernel access, and places in them as affine functions of indices.

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "expr/extent.h"

namespace tilescope::lower {

// coefficient * index, summed, plus a constant. Indices are positions in Kernel::indices.
struct AffineTerm {
  int index = 0;
  std::int64_t coefficient = 1;

  bool operator==(const AffineTerm&) const = default;
};
struct Affine {
  std::vector<AffineTerm> terms;  // sorted by index, no coefficient zero
  std::int64_t constant = 0;

  bool operator==(const Affine&) const = default;
};

enum class IndexKind : std::uint8_t { kBlock, kThread, kLoop, kDerived };

// An integer that addresses depend on. A derived one is floor(of / divisor), modulo `modulus` where that is not 0; `of`
// has earlier indices only.
struct Index {
  std::string name;
  IndexKind kind{};
  expr::Span range;  // of its values; a loop runs through all of it, from low to high
  Affine of;
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;

  bool operator==(const Index&) const = default;
};

enum class Space : std::uint8_t { kGlobal, kShared, kRegister, kTensor };

// An array in the module's memory, in a block's scratchpad, in one thread's registers, or in each lane of a block's
// tensor memory, where an element is a column of 32 bits.
struct Buffer {
  std::string name;
  Space space{};
  base::Dtype dtype{};
  std::int64_t elements = 0;
  int global = -1;                // kGlobal: position in Module::globals
  std::int64_t offset_bytes = 0;  // kShared, kTensor: where it begins in the block's scratchpad, in every lane
  // kShared: bytes of the rows within which a TMA swizzle permutes pieces of 16 bytes; 0: no swizzle. Only TmaBox,
  // Wgmma and copies between a piece and registers access a swizzled array, and their offsets ignore the swizzle.
  std::int64_t swizzled_row = 0;

  bool operator==(const Buffer&) const = default;
};

// Bytes of a column of tensor memory in one lane.
inline constexpr std::int64_t kColumnBytes = 4;

// Bytes of the pieces of a swizzled row that stay together (PTX ISA, "Swizzling Modes").
inline constexpr std::int64_t kSwizzledPiece = 16;

// The byte of a shared array at which the one lies that would be at `byte` if its rows were not swizzled.
std::int64_t swizzled_byte(const Buffer& b, std::int64_t byte);

// `offset` counts elements of the buffer.
struct Access {
  int buffer = 0;
  Affine offset;

  bool operator==(const Access&) const = default;
};

// Holds where 0 <= value < bound.
struct Guard {
  Affine value;
  std::int64_t bound = 0;

  bool operator==(const Guard&) const = default;
};

}  // namespace tilescope::lower
