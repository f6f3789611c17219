// SPDX-License-Identifier: Apache-2.0
// Arithmetic of threads, and reductions over lanes.

#include <utility>

#include <fmt/format.h>

#include "expr/reference.h"
#include "lower/detail/interpret_statements.h"

namespace tilescope::lower {
namespace {

double value_of(const Compute& c, const expr::Node& n, expr::Numbers numbers, const std::vector<double>& nodes,
                const std::vector<double>& scalars, BlockMemory& memory, const Crew& by, std::int64_t t) {
  if (n.kind == expr::NodeKind::kRead) {
    const Access& a = c.operands[static_cast<std::size_t>(n.index)];
    return memory.read(static_cast<std::size_t>(a.buffer), memory.begin_of(a, 1, by, t), by, t);
  }
  if (n.kind == expr::NodeKind::kScalar) return scalars[static_cast<std::size_t>(n.index)];
  if (n.kind == expr::NodeKind::kIndex)
    return static_cast<double>(by.lanes.value(c.indices[static_cast<std::size_t>(n.index)], t));
  return expr::apply(c.body, n, numbers, nodes);
}

}  // namespace

void run(const Compute& c, const std::vector<double>& scalars, BlockMemory& memory, Crew& by) {
  std::vector<double> nodes(c.body.size());
  const auto target = static_cast<std::size_t>(c.target.buffer);
  const base::Dtype dtype = memory.kernel().buffers[target].dtype;
  std::vector<base::Dtype> reads;
  for (const Access& a : c.operands) reads.push_back(memory.kernel().buffers[static_cast<std::size_t>(a.buffer)].dtype);
  const expr::Numbers numbers = expr::numbers_of(c.body, reads, c.reducer, dtype);
  for (std::int64_t t = by.first; t < by.end; ++t) {
    if (!by.lanes.holds(c.when, t)) continue;
    for (std::size_t n = 0; n < c.body.size(); ++n)
      nodes[n] = value_of(c, c.body[n], numbers, nodes, scalars, memory, by, t);
    const std::int64_t at = memory.begin_of(c.target, 1, by, t);
    double value = nodes.back();
    if (c.reducer != expr::Reducer::kNone)
      value = expr::reduce(c.reducer, numbers, memory.read(target, at, by, t), c.body, nodes);
    memory.write(target, at, by, t, expr::round_to(dtype, value));
  }
}

void run(const ReduceLanes& r, BlockMemory& memory, Crew& by) {
  if (r.lanes < 1 || (r.lanes & (r.lanes - 1)) != 0 || memory.kernel().warp % r.lanes != 0)
    throw Mistake(fmt::format("a reduction over {} lanes, which are no power of two or no part of a warp", r.lanes), 0);
  const auto target = static_cast<std::size_t>(r.target.buffer);
  const base::Dtype dtype = memory.kernel().buffers[target].dtype;
  const std::vector<expr::Node> body = {{.kind = expr::NodeKind::kRead}};
  const expr::Numbers numbers = expr::numbers_of(body, {dtype}, r.reducer, dtype);
  std::vector<double> values(static_cast<std::size_t>(r.lanes)), next = values;
  for (const std::int64_t first : by.groups(r.lanes)) {
    for (std::int64_t lane = 0; lane < r.lanes; ++lane)
      values[static_cast<std::size_t>(lane)] =
          memory.read(target, memory.begin_of(r.target, 1, by, first + lane), by, first + lane);
    for (std::size_t apart = 1; apart < values.size(); apart *= 2) {
      for (std::size_t lane = 0; lane < values.size(); ++lane)
        next[lane] =
            expr::round_to(dtype, expr::reduce(r.reducer, numbers, values[lane], body, {values[lane ^ apart]}));
      std::swap(values, next);
    }
    for (std::int64_t lane = 0; lane < r.lanes; ++lane)
      memory.write(target, memory.begin_of(r.target, 1, by, first + lane), by, first + lane,
                   values[static_cast<std::size_t>(lane)]);
  }
}

}  // namespace tilescope::lower
