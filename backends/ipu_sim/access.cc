// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/access.h"

#include <algorithm>
#include <limits>

namespace tilescope::ipu_sim {

using namespace lower::bsp;  // the program is all that this file is about

std::optional<Access> Access::of(const expr::Read& read, const expr::Tensor& tensor, const Buffer& buffer) {
  Access out;
  out.at = read.at;
  out.shape = tensor.shape;
  out.owner.assign(read.at.size(), 0);
  out.factor.assign(read.at.size(), 0);
  std::int64_t stride = 1, elements = 1;
  for (const Dim& d : buffer.dims) elements *= d.extent;
  if (elements != tensor.elements()) return std::nullopt;
  for (std::size_t d = read.at.size(); d-- > 0;) {
    if (!read.at[d].affine()) return std::nullopt;
    // A dimension of one element has index 0 alone, whichever dimension of the buffer it is in.
    const auto owner = std::find_if(buffer.dims.begin(), buffer.dims.end(), [&](const Dim& dim) {
      return dim.stride <= stride && stride * tensor.shape[d] <= dim.stride * dim.extent && stride % dim.stride == 0;
    });
    if (owner == buffer.dims.end() && tensor.shape[d] > 1) return std::nullopt;
    if (tensor.shape[d] > 1) {
      out.owner[d] = static_cast<std::size_t>(owner - buffer.dims.begin());
      out.factor[d] = stride / owner->stride;
    }
    stride *= tensor.shape[d];
  }
  return out;
}

Shifts::Shifts(const Access& access, const Block& block, const std::vector<std::size_t>& axes)
    : rank(access.at.size()), by_point(rank, 0), low(rank, 0), high(rank, 0) {
  const expr::Stage& loops = block.loops();
  Points point(loops.axes.size(), 0);
  for (const std::size_t a : axes) {
    const Axis& axis = block.stage.axes[a];
    const Interval& window = block.windows[a];
    std::vector<std::int64_t> more;  // what the axis adds
    for (std::int64_t i = window.begin; i < window.end(); ++i) {
      set_point(axis, loops, i, point);
      for (const expr::Coordinate& c : access.at) {
        std::int64_t shift = 0;
        for (const expr::Term& t : c.terms)
          if (std::find(axis.loops.begin(), axis.loops.end(), t.axis) != axis.loops.end())
            shift += t.coefficient * point[static_cast<std::size_t>(t.axis)];
        more.push_back(shift);
      }
    }
    std::vector<std::int64_t> both;
    both.reserve(count * more.size());
    for (std::size_t p = 0; p < count; ++p)
      for (std::size_t m = 0; m < more.size(); ++m) both.push_back(by_point[p * rank + m % rank] + more[m]);
    by_point = std::move(both);
    count *= static_cast<std::size_t>(window.length);
  }
  for (std::size_t d = 0; d < rank && count > 0; ++d) {
    low[d] = high[d] = by_point[d];
    for (std::size_t p = 1; p < count; ++p) {
      low[d] = std::min(low[d], by_point[p * rank + d]);
      high[d] = std::max(high[d], by_point[p * rank + d]);
    }
  }
}

Reach::Reach(const Access& access, const Block& block, const Buffer& buffer, const Box& box, std::int64_t begin,
             const std::vector<std::vector<std::size_t>>& groups)
    : access_(access), box_(box) {
  for (const std::vector<std::size_t>& axes : groups) groups_.emplace_back(access, block, axes);
  if (std::any_of(groups_.begin(), groups_.end(), [](const Shifts& s) { return s.count == 0; })) {
    offsets_.resize(groups.size());
    return;
  }
  const std::size_t rank = access.at.size();
  std::vector<std::int64_t> row(box.size(), 1);  // elements from one index of a buffer's dimension to the next
  for (std::size_t d = box.size() - 1; d-- > 0;) row[d] = row[d + 1] * box[d + 1].length;
  std::vector<std::int64_t> bytes(rank);
  std::int64_t address = begin;
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t low = access.at[d].offset, high = low;
    for (const Shifts& s : groups_) low += s.low[d], high += s.high[d];
    whole_ = whole_ && low >= 0 && high < access.shape[d];
    bytes[d] = row[access.owner[d]] * access.factor[d] * size_of(buffer);
    address += access.at[d].offset * bytes[d];
  }
  for (std::size_t d = 0; d < box.size(); ++d) {
    address -= box[d].begin * row[d] * size_of(buffer);
    const Interval reached = reached_of(d);
    whole_ = whole_ && reached.begin >= box[d].begin && reached.end() <= box[d].end();
  }
  for (const Shifts& s : groups_) {
    std::vector<std::int64_t>& out = offsets_.emplace_back(s.count, offsets_.empty() ? address : 0);
    for (std::size_t p = 0; p < s.count; ++p)
      for (std::size_t d = 0; d < rank; ++d) out[p] += s.by_point[p * rank + d] * bytes[d];
  }
}

Interval Reach::reached_of(std::size_t dim) const {
  std::int64_t low = 0, high = 0;
  for (std::size_t d = 0; d < access_.at.size(); ++d)
    if (access_.owner[d] == dim) low = high += access_.at[d].offset * access_.factor[d];
  for (const Shifts& s : groups_) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = std::numeric_limits<std::int64_t>::min();
    for (std::size_t p = 0; p < s.count; ++p) {
      std::int64_t index = 0;
      for (std::size_t d = 0; d < s.rank; ++d)
        if (access_.owner[d] == dim) index += s.by_point[p * s.rank + d] * access_.factor[d];
      least = std::min(least, index);
      most = std::max(most, index);
    }
    low += least, high += most;
  }
  return {low, high - low + 1};
}

std::int64_t Reach::index(std::size_t dim, std::size_t first, std::size_t second, std::size_t third) const {
  const std::size_t rank = access_.at.size();
  return access_.at[dim].offset + groups_[0].by_point[first * rank + dim] + groups_[1].by_point[second * rank + dim] +
         groups_[2].by_point[third * rank + dim];
}

std::int64_t Reach::address(std::size_t first, std::size_t second, std::size_t third) const {
  base::FixedVector<std::int64_t, kMaxAxes> in_buffer(box_.size(), 0);
  for (std::size_t d = 0; d < access_.at.size(); ++d) {
    const std::int64_t at = index(d, first, second, third);
    if (at < 0 || at >= access_.shape[d]) return kOutside;
    in_buffer[access_.owner[d]] += at * access_.factor[d];
  }
  for (std::size_t d = 0; d < box_.size(); ++d)
    if (in_buffer[d] < box_[d].begin || in_buffer[d] >= box_[d].end()) return kLacking;
  return offsets_[0][first] + offsets_[1][second] + offsets_[2][third];
}

std::int64_t Reach::element(std::size_t first, std::size_t second, std::size_t third) const {
  std::int64_t element = 0;
  for (std::size_t d = 0; d < access_.at.size(); ++d)
    element = element * access_.shape[d] + index(d, first, second, third);
  return element;
}

}  // namespace tilescope::ipu_sim
