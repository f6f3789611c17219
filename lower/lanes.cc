// SPDX-License-Identifier: Apache-2.0
#include "lower/detail/lanes.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::lower {

Lanes::Lanes(const Kernel& kernel, std::int64_t first_thread, std::int64_t count)
    : kernel_(kernel),
      count_(count),
      dependents_(kernel.indices.size()),
      values_(kernel.indices.size() * static_cast<std::size_t>(count)) {
  const auto n = static_cast<int>(kernel.indices.size());
  for (int d = 0; d < n; ++d)
    for (const AffineTerm& t : kernel.indices[static_cast<std::size_t>(d)].of.terms)
      for (int i = 0; i < n; ++i) {
        std::vector<int>& known = dependents_[static_cast<std::size_t>(i)];
        const bool reaches = i == t.index || std::find(known.begin(), known.end(), t.index) != known.end();
        if (reaches && (known.empty() || known.back() != d)) known.push_back(d);
      }
  for (int i = 0; i < n; ++i) {
    const Index& index = kernel.indices[static_cast<std::size_t>(i)];
    if (index.kind == IndexKind::kDerived)
      derive({i});
    else
      set_all(i, index.range.low);
    if (index.kind == IndexKind::kThread)
      for (std::int64_t lane = 0; lane < count; ++lane)
        values_[static_cast<std::size_t>(i * count_ + lane)] = first_thread + lane;
  }
}

void Lanes::set_block(std::int64_t block) { set_loop(kBlockIndex, block); }

void Lanes::set_loop(int index, std::int64_t value) {
  set_all(index, value);
  derive(dependents_[static_cast<std::size_t>(index)]);
}

void Lanes::set_all(int index, std::int64_t value) { std::fill_n(values_.begin() + index * count_, count_, value); }

void Lanes::derive(const std::vector<int>& indices) {
  for (const int i : indices) {
    const Index& index = kernel_.indices[static_cast<std::size_t>(i)];
    for (std::int64_t lane = 0; lane < count_; ++lane) {
      std::int64_t v = base::floor_div(value(index.of, lane), index.divisor);
      if (index.modulus != 0) v = base::floor_mod(v, index.modulus);
      values_[static_cast<std::size_t>(i * count_ + lane)] = v;
    }
  }
}

}  // namespace tilescope::lower
