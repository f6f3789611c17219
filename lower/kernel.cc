// SPDX-License-Identifier: Apache-2.0
#include "lower/kernel.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::lower {
namespace {

constexpr std::int64_t kAllocation = 256;  // bytes; what cudaMalloc aligns to (CUDA programming guide, 5.3.2)

}  // namespace

bool Compute::operator==(const Compute& o) const {
  const auto same = [](const expr::Node& a, const expr::Node& b) {
    return a.kind == b.kind && a.number == b.number && a.index == b.index && a.function == b.function &&
           a.left == b.left && a.right == b.right;
  };
  return target == o.target && reducer == o.reducer && operands == o.operands && when == o.when &&
         std::equal(body.begin(), body.end(), o.body.begin(), o.body.end(), same);
}

expr::Span range_of(const Kernel& k, const Affine& a) {
  expr::Span s{a.constant, a.constant};
  for (const AffineTerm& t : a.terms) {
    const expr::Span& r = k.indices[static_cast<std::size_t>(t.index)].range;
    s.low += t.coefficient * (t.coefficient > 0 ? r.low : r.high);
    s.high += t.coefficient * (t.coefficient > 0 ? r.high : r.low);
  }
  return s;
}

std::int64_t TmaBox::elements() const {
  std::int64_t n = 1;
  for (const BoxDim& d : dims) n *= d.box;
  return n;
}

std::vector<std::int64_t> base_addresses(const Module& m) {
  std::vector<std::int64_t> out;
  std::int64_t next = 0;
  for (const Global& g : m.globals) {
    out.push_back(next);
    next += base::ceil_div(g.elements * base::size_of(g.dtype).n, kAllocation) * kAllocation;
  }
  return out;
}

}  // namespace tilescope::lower
