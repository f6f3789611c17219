// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/boxes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cuda/host/watch.h"

namespace tilescope::cuda::host {

Box box_of(const tilescope_tensor_map& t, const int* at) {
  long long rows = 1;
  for (int d = 1; d < t.dims; ++d) rows *= t.box[d];
  Box out{rows * t.box[0] * t.element_bytes, {}};
  const long long first = std::max(0, -at[0]), last = std::min(t.box[0], t.extent[0] - at[0]);  // of a row's elements
  for (long long row = 0; row < rows; ++row) {
    long long rest = row, from = at[0] + first;
    bool inside = first < last;
    for (int d = 1; d < t.dims; rest /= t.box[d], ++d) {
      const long long i = at[d] + rest % t.box[d];
      inside = inside && i >= 0 && i < t.extent[d];
      from += i * t.stride[d];
    }
    if (!inside) continue;
    out.runs.push_back({static_cast<const char*>(t.begin) + from * t.element_bytes,
                        (row * t.box[0] + first) * t.element_bytes, (last - first) * t.element_bytes});
  }
  return out;
}

void store(const tilescope_tensor_map& t, const int* at, const char* from) {
  const Box box = box_of(t, at);
  watch::box_asked(box);
  for (const BoxRun& r : box.runs)
    for (long long b = 0; b < r.bytes;) {
      const long long in_piece = (r.to + b) % kPiece, bytes = std::min(kPiece - in_piece, r.bytes - b);
      char* const to = const_cast<char*>(r.from) + b;  // what a run says is the tensor's
      const char* const piece = piece_at(t, const_cast<char*>(from) + r.to + b - in_piece) + in_piece;
      watch::bulk_stores(to, piece, static_cast<int>(bytes));
      std::memcpy(to, piece, static_cast<std::size_t>(bytes));
      b += bytes;
    }
}

const char* refusal_of(const tilescope_tensor_map& t, int dims, const void* to) {
  constexpr long long kMaxBox = 256;
  const long long row = t.box[0] * t.element_bytes;
  if (dims != t.dims) return "a box of a tensor that has another number of dimensions";
  // What the swizzling repeats after, and 128 bytes at least (PTX ISA, "Tensor alignment").
  const long long repeats = std::max(128, 8 * t.swizzled_row);
  if (reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(repeats) != 0)
    return "a box to an address where its swizzling does not begin anew";
  if (reinterpret_cast<std::uintptr_t>(t.begin) % kPiece != 0)
    return "a tensor at an address that is no multiple of 16";
  if (row % kPiece != 0) return "a box whose rows are no multiple of 16 bytes";
  if (t.swizzled_row > 0 && row != t.swizzled_row) return "a box whose rows are not those that are swizzled";
  if (t.stride[0] != 1) return "a tensor whose innermost elements are not side by side";
  for (int d = 0; d < dims; ++d) {
    if (t.box[d] > kMaxBox) return "a box of more than 256 elements along a dimension";
    if (d > 0 && t.stride[d] * t.element_bytes % kPiece != 0)
      return "a tensor whose rows are no multiple of 16 bytes apart";
  }
  return nullptr;
}

char* piece_at(const tilescope_tensor_map& t, void* linear) {
  const auto byte = reinterpret_cast<std::uintptr_t>(linear);
  const std::uintptr_t others = t.swizzled_row > 0 ? static_cast<std::uintptr_t>(t.swizzled_row / kPiece - 1) : 0;
  return static_cast<char*>(linear) + ((byte ^ (byte >> 7 & others) << 4) - byte);
}

}  // namespace tilescope::cuda::host
