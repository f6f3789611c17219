// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory requests of a TMA box: its rows cut into lines, as far as they lie within the tensor. The rest of a loaded
// box is zeros, which no level delivers; the rest of a stored one is dropped.

#include <cstdint>
#include <vector>

#include "lower/counters.h"
#include "sim/gpu/detail/kernel_indices.h"
#include "sim/memory/detail/written_parts.h"

namespace tilescope::sim {

// One request for a line; neighbouring rows that share it are one.
struct BoxLine {
  std::int64_t line = 0;
  std::uint32_t sectors = 0;
  std::int64_t bytes = 0;  // of the box
  Written written = {};    // of one that is stored, where that matters
};

class TmaBoxLines {
 public:
  // `warp` is the one of its role that asks; `tells_written` whether lines say what is written of them.
  TmaBoxLines(const KernelIndices& indices, const lower::TmaBox& copy, const std::vector<std::int64_t>& bases,
              const LineShape& shape, std::int64_t warp, bool tells_written);

  std::int64_t warp() const { return warp_; }
  // Of the whole box, zeros included.
  std::int64_t bytes() const { return bytes_; }
  // In the scratchpads of `blocks` blocks.
  lower::CopyCount count(const std::vector<BoxLine>& lines, std::int64_t pass_bytes, std::int64_t blocks = 1) const;
  // Row by row.
  std::vector<BoxLine> lines(const Uniforms& u) const;

 private:
  struct Dim {
    LaneForm at;
    std::int64_t extent = 1, stride = 1, box = 1;  // in bytes, of the last one extent and box too
  };
  void add_row(std::int64_t begin, std::int64_t end, std::vector<BoxLine>& out) const;

  LineShape shape_;
  std::int64_t warp_, base_ = 0, bytes_ = 0;
  bool tells_written_;
  std::vector<Dim> dims_;
};

}  // namespace tilescope::sim
