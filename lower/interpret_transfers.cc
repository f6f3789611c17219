// SPDX-License-Identifier: Apache-2.0
// Copies, and TMA loads and stores.

#include <utility>

#include <fmt/format.h>

#include "lower/affine.h"
#include "lower/detail/interpret_statements.h"

namespace tilescope::lower {
namespace {

// What a gather adds to an offset; its index has to be the table's, and one that there is.
std::int64_t gathered(const Gather& g, BlockMemory& memory, const Crew& by, std::int64_t t) {
  const double index = memory.read(static_cast<std::size_t>(g.index.buffer), memory.begin_of(g.index, 1, by, t), by, t);
  const Buffer& table = memory.kernel().buffers[static_cast<std::size_t>(g.table.buffer)];
  const std::int64_t at = memory.begin_of(g.table, 1, by, t);
  if (memory.read(static_cast<std::size_t>(g.table.buffer), at, by, t) != index)
    throw Mistake(fmt::format("an index of {}, and {}[{}] is another", index, table.name, at), t);
  if (index < 0 || index >= static_cast<double>(g.extent))
    throw Mistake(fmt::format("the index {}[{}] is {}, expected 0 to {}", table.name, at, index, g.extent - 1), t);
  return static_cast<std::int64_t>(index) * g.stride;
}

// Calls visit(e, at) for the elements of the box that lie in the tensor: its number in the box, and in the array.
template <class Visit>
void elements_of(const TmaBox& b, const Crew& by, const Visit& visit) {
  std::vector<std::int64_t> begin;
  for (const BoxDim& d : b.dims) begin.push_back(by.common(d.at));
  for (std::int64_t e = 0; e < b.elements(); ++e) {
    std::int64_t rest = e, in_array = 0;
    bool inside = true;
    for (std::size_t d = b.dims.size(); d-- > 0; rest /= b.dims[d].box) {
      const std::int64_t at = begin[d] + rest % b.dims[d].box;
      inside = inside && at >= 0 && at < b.dims[d].extent;
      in_array += at * b.dims[d].stride;
    }
    if (inside) visit(e, in_array);
  }
}

}  // namespace

void run(const Copy& c, BlockMemory& memory, Crew& by) {
  for (std::int64_t t = by.first; t < by.end; ++t) {
    if (!by.lanes.holds(c.when, t)) continue;
    const bool inside = by.lanes.holds(c.inside, t);
    const std::int64_t to = memory.begin_of(c.to, c.elements, by, t);
    const std::int64_t from =
        !inside ? 0 : memory.begin_of(c.from, c.elements, by, t, c.gather ? gathered(*c.gather, memory, by, t) : 0);
    std::vector<double> values(static_cast<std::size_t>(c.elements), 0.0);
    for (std::int64_t e = 0; inside && e < c.elements; ++e)
      values[static_cast<std::size_t>(e)] = memory.read(static_cast<std::size_t>(c.from.buffer), from + e, by, t);
    if (c.asynchronous)
      memory.launch({static_cast<std::size_t>(c.to.buffer), to, t, std::move(values)}, by);
    else
      for (std::int64_t e = 0; e < c.elements; ++e)
        memory.write(static_cast<std::size_t>(c.to.buffer), to + e, by, t, values[static_cast<std::size_t>(e)]);
  }
}

void run(const TmaStore& b, BlockMemory& memory, Crew& by) {
  const std::int64_t begin =
      memory.begin_of({b.shared.buffer, constant(by.common(b.shared.offset))}, b.elements(), by, by.first);
  elements_of(b, by, [&](std::int64_t e, std::int64_t at) {
    memory.write(static_cast<std::size_t>(b.memory), at, by, by.first,
                 memory.read_published(static_cast<std::size_t>(b.shared.buffer), begin + e, by));
  });
}

void run(const TmaLoad& b, BlockMemory& own, std::span<const BlockParts> to, Crew& by) {
  for (const BlockParts& block : to) block.mbarriers->start(b, by);
  const auto buffer = static_cast<std::size_t>(b.shared.buffer);
  const std::int64_t elements = b.elements();
  Landing l{buffer, by.common(b.shared.offset), by.first, std::vector<double>(static_cast<std::size_t>(elements), 0.0)};
  own.begin_of({b.shared.buffer, constant(l.offset)}, elements, by, by.first);
  elements_of(b, by, [&](std::int64_t e, std::int64_t at) {
    l.values[static_cast<std::size_t>(e)] = own.read(static_cast<std::size_t>(b.memory), at, by, by.first);
  });
  for (const BlockParts& block : to) {
    for (std::int64_t e = 0; e < elements; ++e) block.memory->deliver(buffer, l.offset + e, by);
    block.mbarriers->add(b, l, elements * base::size_of(own.kernel().buffers[buffer].dtype).n, by);
  }
}

}  // namespace tilescope::lower
