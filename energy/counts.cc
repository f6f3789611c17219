// SPDX-License-Identifier: Apache-2.0
#include "energy/counts.h"

#include <algorithm>

namespace tilescope::energy {
namespace {

// The entry of that name, which is added where there is none.
template <class Entries>
auto& entry_of(Entries& entries, std::string_view name) {
  const auto known = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
  if (known != entries.end()) return *known;
  entries.push_back({name});
  return entries.back();
}

}  // namespace

void Counts::add_operations(std::string_view name, double number) {
  if (number > 0) entry_of(operations, name).number += number;
}

Counts& Counts::operator+=(const Counts& o) {
  instructions += o.instructions;
  for (const OperationCount& c : o.operations) add_operations(c.name, c.number);
  for (std::size_t p = 0; p < pipe_cycles.size(); ++p) pipe_cycles[p] += o.pipe_cycles[p];
  for (const LevelCount& l : o.levels) {
    LevelCount& level = entry_of(levels, l.name);
    level.read_bytes += l.read_bytes;
    level.written_bytes += l.written_bytes;
  }
  activates += o.activates;
  refreshes += o.refreshes;
  link_bytes += o.link_bytes;
  block_us += o.block_us;
  return *this;
}

Counts operator*(double times, Counts c) {
  c.instructions *= times;
  for (OperationCount& o : c.operations) o.number *= times;
  for (double& p : c.pipe_cycles) p *= times;
  for (LevelCount& l : c.levels) l.read_bytes *= times, l.written_bytes *= times;
  c.activates *= times;
  c.refreshes *= times;
  c.link_bytes *= times;
  c.block_us *= times;
  return c;
}

}  // namespace tilescope::energy
