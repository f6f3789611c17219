// SPDX-License-Identifier: Apache-2.0
#include "lower/kernel.h"

#include <algorithm>

#include "arch/hierarchy.h"
#include "base/integer.h"
#include "expr/reference.h"

namespace tilescope::lower {
bool Compute::operator==(const Compute& o) const {
  const auto same = [](const expr::Node& a, const expr::Node& b) {
    return a.kind == b.kind && a.number == b.number && a.index == b.index && a.function == b.function &&
           a.left == b.left && a.right == b.right && a.third == b.third;
  };
  return target == o.target && reducer == o.reducer && operands == o.operands && when == o.when &&
         indices == o.indices && std::equal(body.begin(), body.end(), o.body.begin(), o.body.end(), same);
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

bool gathers(const Module& m) {
  bool any = false;
  for (const Kernel& k : m.kernels)
    for_each_statement(k.body, [&](const Statement& s) {
      const auto* copy = std::get_if<Copy>(&s.what);
      any = any || (copy != nullptr && copy->gather);
    });
  return any;
}

std::vector<std::shared_ptr<const std::vector<std::int32_t>>> index_tables(const Module& m) {
  std::vector<std::int64_t> bounds(m.globals.size(), 0);
  for (const Kernel& k : m.kernels)
    for_each_statement(k.body, [&](const Statement& s) {
      const auto* copy = std::get_if<Copy>(&s.what);
      if (copy == nullptr || !copy->gather) return;
      const int global = k.buffers[static_cast<std::size_t>(copy->gather->table.buffer)].global;
      std::int64_t& bound = bounds[static_cast<std::size_t>(global)];
      bound = bound == 0 ? copy->gather->extent : std::min(bound, copy->gather->extent);
    });
  std::vector<std::shared_ptr<const std::vector<std::int32_t>>> out(m.globals.size());
  for (std::size_t g = 0; g < out.size(); ++g) {
    const Global& global = m.globals[g];
    if (bounds[g] == 0) continue;
    out[g] = global.entries;
    if (out[g] != nullptr) continue;
    const auto greatest = static_cast<std::int64_t>(expr::round_to(global.dtype, 0x1p40));
    out[g] = std::make_shared<const std::vector<std::int32_t>>(
        expr::drawn_indices(global.name, global.elements, std::min(bounds[g], greatest + 1), global.indices));
  }
  return out;
}

std::vector<std::int64_t> base_addresses(const Module& m) {
  std::vector<std::int64_t> out;
  std::int64_t next = 0;
  for (const Global& g : m.globals) {
    out.push_back(next);
    next += base::round_up(g.elements * base::size_of(g.dtype).n, arch::kAllocationAlignment.n);
  }
  return out;
}

std::int64_t tensor_columns(const Kernel& k) {
  std::int64_t end = 0;
  for (const Buffer& b : k.buffers)
    if (b.space == Space::kTensor) end = std::max(end, b.offset_bytes / kColumnBytes + b.elements);
  return end;
}

std::int64_t tensor_lanes(const Kernel& k) {
  std::int64_t most = 0;
  for (const MatrixInstruction& i : k.matrix_instructions) most = std::max(most, i.lanes);
  return most;
}

}  // namespace tilescope::lower
