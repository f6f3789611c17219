// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/mesh_ways.h"

#include <algorithm>
#include <tuple>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/ports.h"

namespace tilescope::sim::bsp {

MeshWays::MeshWays(const arch::ArchSpec& a)
    : link_(arch::core_link(a)),
      rows_(static_cast<std::int32_t>(link_.rows.value_or(1))),
      columns_(static_cast<std::int32_t>(link_.columns.value_or(1))),
      networks_(link_.networks.value_or(1)),
      cores_(a.core.count) {
  if (const arch::DramLevel* dram = arch::dram_of(a))
    for (const arch::MeshPlace& p : arch::places_of_channels(*dram))
      of_channels_.push_back({static_cast<std::int32_t>(p.row), static_cast<std::int32_t>(p.column)});
}

std::vector<Rectangle> MeshWays::rectangles_of(const std::vector<std::int64_t>& receivers) const {
  const bool together = link_.multicast != arch::Multicast::kNone;
  std::vector<Rectangle> out;
  Rectangle all{place_of(receivers.front()), place_of(receivers.front())};
  for (const std::int64_t core : receivers) {
    const Place p = place_of(core);
    if (together && !out.empty() && out.back().last.row == p.row && out.back().last.column + 1 == p.column)
      out.back().last = p;
    else
      out.push_back({p, p});
    all.first.row = std::min(all.first.row, p.row), all.first.column = std::min(all.first.column, p.column);
    all.last.row = std::max(all.last.row, p.row), all.last.column = std::max(all.last.column, p.column);
  }
  const bool filled = all.count() == static_cast<std::int64_t>(receivers.size());
  if (together && filled) return {all};
  return out;
}

void MeshWays::for_each_sending(const Exchange& exchange, const std::function<void(const Sending&)>& visit) const {
  std::vector<std::vector<Rectangle>> of_groups;
  for (const auto& group : exchange.groups) of_groups.push_back(rectangles_of(group));
  std::vector<std::int64_t> sent(static_cast<std::size_t>(senders() * networks_), 0);  // bytes, by core and network
  for (const Transfer& t : exchange.transfers)
    for (const Rectangle& to : of_groups[t.group]) {
      const bool to_channel = exchange.groups[t.group].front() >= cores_;
      if (to.count() == 1 && core_at(to.first) == t.from && !to_channel) continue;
      std::int64_t* of_core = &sent[static_cast<std::size_t>(t.from * networks_)];
      std::int64_t best = 0, fewest = 0;
      for (std::int64_t n = 0; n < networks_; ++n) {
        const std::int64_t links = networks_ == 1 ? 0 : links_of(tree(n, place_of(t.from), to), to);
        if (n == 0 || std::tie(links, of_core[n]) < std::tie(fewest, of_core[best])) best = n, fewest = links;
      }
      of_core[best] += t.bytes;
      visit({&t, to, best, to_channel});
    }
}

// How far it is along a dimension to reach all of [first, last] from `from`, each way.
Reach MeshWays::reach(std::int32_t from, std::int32_t first, std::int32_t last, std::int32_t length,
                      std::int64_t network) const {
  if (link_.torus == arch::Torus::kNone) return {std::max(0, last - from), std::max(0, from - first)};
  const auto ahead = [&](std::int32_t to) { return (to - from + length) % length; };
  Reach out;
  if (link_.torus == arch::Torus::kOneWay) {
    // All the way round where the sender lies among them and is not where they begin.
    const bool forward = network % 2 == 0;
    const std::int32_t begin = forward ? first : last, end = forward ? last : first;
    const bool among = from >= first && from <= last && from != begin;
    const std::int32_t far = ahead(among ? (forward ? from - 1 : (from + 1) % length) : end);
    (forward ? out.forward : out.backward) = forward ? far : (length - far) % length;
    return out;
  }
  for (std::int32_t to = first; to <= last; ++to) {
    const std::int32_t far = ahead(to), back = (length - far) % length;
    std::int32_t& most = far <= back ? out.forward : out.backward;
    most = std::max(most, std::min(far, back));
  }
  return out;
}

Tree MeshWays::tree(std::int64_t network, Place from, const Rectangle& to) const {
  const auto along = [&](bool by_column) {
    return reach(from.along(by_column), to.first.along(by_column), to.last.along(by_column), extent(by_column),
                 network);
  };
  const bool usual = network % 2 == 1 && link_.torus == arch::Torus::kOneWay;
  const Tree out{usual, along(usual), along(!usual)};
  if (to.count() == 1) return out;
  const Tree other{!usual, out.branches, out.trunk};
  return links_of(other, to) < links_of(out, to) ? other : out;
}

std::int64_t MeshWays::links_of(const Tree& t, const Rectangle& to) {
  const std::int64_t branches = to.last.along(t.trunk_by_column) - to.first.along(t.trunk_by_column) + 1;
  return t.trunk.forward + t.trunk.backward + branches * (t.branches.forward + t.branches.backward);
}

std::int64_t MeshWays::longest_of(const Tree& t) {
  return std::max(t.trunk.forward, t.trunk.backward) + std::max(t.branches.forward, t.branches.backward);
}

}  // namespace tilescope::sim::bsp
