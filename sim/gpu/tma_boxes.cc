// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/tma_boxes.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::sim {

TmaBoxLines::TmaBoxLines(const KernelIndices& indices, const lower::TmaBox& copy,
                         const std::vector<std::int64_t>& bases, const LineShape& shape, std::int64_t warp,
                         bool tells_written)
    : shape_(shape), warp_(warp), tells_written_(tells_written) {
  const lower::Buffer& from = indices.kernel().buffers[static_cast<std::size_t>(copy.memory)];
  const std::int64_t size = base::size_of(from.dtype).n;
  base_ = bases[static_cast<std::size_t>(from.global)];
  bytes_ = copy.elements() * size;
  for (const lower::BoxDim& d : copy.dims) {
    const bool rows = &d == &copy.dims.back();
    dims_.push_back({indices.form(d.at, rows ? size : 1), d.extent * (rows ? size : 1), d.stride * size,
                     d.box * (rows ? size : 1)});
    base::check(dims_.back().at.lane.empty() && dims_.back().at.mixed.empty(), "a box is the same for all threads");
  }
}

std::vector<BoxLine> TmaBoxLines::lines(const Uniforms& u) const {
  std::vector<std::int64_t> at;
  for (const Dim& d : dims_) at.push_back(d.at.common(u, {}));
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < dims_.size(); ++d) rows *= dims_[d].box;
  const Dim& inner = dims_.back();
  const std::int64_t begin = std::max<std::int64_t>(0, at.back()), end = std::min(inner.extent, at.back() + inner.box);
  std::vector<BoxLine> out;
  for (std::int64_t row = 0; row < rows && begin < end; ++row) {
    std::int64_t rest = row, from = base_;
    bool inside = true;
    for (std::size_t d = dims_.size() - 1; d-- > 0; rest /= dims_[d].box) {
      const std::int64_t place = at[d] + rest % dims_[d].box;
      inside = inside && place >= 0 && place < dims_[d].extent;
      from += place * dims_[d].stride;
    }
    if (inside) add_row(from + begin, from + end, out);
  }
  if (tells_written_)
    for (BoxLine& l : out) l.written.partly = partly_written(shape_, l.sectors, l.written.parts);
  return out;
}

lower::CopyCount TmaBoxLines::count(const std::vector<BoxLine>& lines, std::int64_t pass_bytes,
                                    std::int64_t blocks) const {
  lower::CopyCount out;
  if (!lines.empty()) out.global.lane_accesses = out.global.requests = 1;
  for (const BoxLine& l : lines) {
    out.global.sectors += std::popcount(l.sectors);
    out.global.bytes += l.bytes;
  }
  out.shared = {blocks, blocks, blocks * bytes_, 0, blocks * base::ceil_div(bytes_, pass_bytes)};
  return out;
}

void TmaBoxLines::add_row(std::int64_t begin, std::int64_t end, std::vector<BoxLine>& out) const {
  for (std::int64_t line = begin / shape_.line; line * shape_.line < end; ++line) {
    const std::int64_t low = std::max(begin - line * shape_.line, std::int64_t{0});
    const std::int64_t high = std::min(end - line * shape_.line, shape_.line);
    if (out.empty() || out.back().line != line) out.push_back({line});
    for (std::int64_t s = low / shape_.sector; s * shape_.sector < high; ++s)
      out.back().sectors |= std::uint32_t{1} << s;
    out.back().bytes += high - low;
    if (tells_written_) out.back().written.parts |= parts_between(shape_, low, high);
  }
}

}  // namespace tilescope::sim
