// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/amd_builtins.h"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"

namespace tilescope::cuda {
namespace {

struct Word {
  std::string_view type;
  std::int64_t bytes = 0;
};

// What the builtins' vectors are of (LLVM, BuiltinsAMDGPU.def): floats by their types, bfloat16 by its bits, bytes
// packed into the widest integer that a lane's fill, up to four registers of them.
Word word_of(base::Dtype dtype, std::int64_t bytes) {
  switch (dtype) {
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return {"float", 4};
    case base::Dtype::kF16:
      return {"_Float16", 2};
    case base::Dtype::kBf16:
      return {"short", 2};
    case base::Dtype::kF64:
      return {"double", 8};
    case base::Dtype::kI8:
    case base::Dtype::kU8:
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return bytes == 8 ? Word{"long", 8} : Word{"int", 4};
    case base::Dtype::kI32:
      return {"int", 4};
  }
  base::check(false, "every dtype has a type of AMD's builtins");
  return {};
}

// Whether a lane's elements are whole words of the types that the builtins take.
bool fills_words(const arch::FragmentMap& map, base::Dtype dtype) {
  const std::int64_t bytes = map.elements_of_lane() * base::size_of(dtype).n;
  return bytes > 0 && bytes % word_of(dtype, bytes).bytes == 0;
}

// "using sums = float __attribute__((ext_vector_type(16)));"
std::string type(std::string_view name, base::Dtype dtype, const arch::FragmentMap& map) {
  const std::int64_t bytes = map.elements_of_lane() * base::size_of(dtype).n;
  const Word word = word_of(dtype, bytes);
  const std::int64_t count = bytes / word.bytes;
  const std::string vector = count == 1 ? "" : fmt::format(" __attribute__((ext_vector_type({})))", count);
  return fmt::format("    using {} = {}{};\n", name, word.type, vector);
}

}  // namespace

std::string mfma_of(const lower::MatrixInstruction& i) {
  if (i.hip.empty() || !i.a || !i.b) return {};
  if (!fills_words(*i.a, i.elements) || !fills_words(*i.b, i.elements) || !fills_words(i.c, i.sums)) return {};
  // Broadcasts of A and B, which CDNA's instructions can do and RDNA's have no words for.
  const std::string_view broadcasts = i.hip.find("_mfma_") == std::string::npos ? "" : ", 0, 0, 0";
  return fmt::format(
      "{}{}{}    sums z;\n    rows x;\n    columns y;\n"
      "    __builtin_memcpy(&x, a, sizeof(x));\n    __builtin_memcpy(&y, b, sizeof(y));\n"
      "    __builtin_memcpy(&z, d, sizeof(z));\n    z = {}(x, y, z{});\n    __builtin_memcpy(d, &z, sizeof(z));\n",
      type("rows", i.elements, *i.a), type("columns", i.elements, *i.b), type("sums", i.sums, i.c), i.hip, broadcasts);
}

}  // namespace tilescope::cuda
