// SPDX-License-Identifier: Apache-2.0
#include "model/simt/access_table.h"

#include "model/simt/warp_access.h"

namespace tilescope::model {
namespace {

bool served_together(const AccessPattern& access, const BankUse& use, const Geometry& g) {
  return g.broadcast_groups > 1 && use.groups > 1 && neighbours_agree(access.addresses());
}

constexpr std::int64_t kOfBanks = 0;  // else granules of so many bytes

}  // namespace

PortUse port_use(const AccessPattern& access, const Geometry& g) {
  const BankUse use = bank_use(access, g.banks, g.bank_width_bytes);
  if (!served_together(access, use, g)) return {use, use.passes};
  return {use, bank_use(access, g.banks, g.bank_width_bytes, g.broadcast_groups).passes};
}

WordTable::Found AccessTable::number_of(const AccessPattern& access, std::int64_t question) {
  base::FixedVector<std::int64_t, kMaxWarp + 2 * LaneLoops::static_capacity + 8> words;
  const RowTurn& turn = access.turn();
  for (const std::int64_t word : {question, access.bytes(), access.lanes(), access.first(), turn.pitch, turn.length,
                                  turn.by, static_cast<std::int64_t>(access.loops().size())})
    words.push_back(word);
  for (const LaneLoop& l : access.loops()) {
    words.push_back(l.times);
    words.push_back(l.apart);
  }
  for (const std::int64_t offset : access.listed()) words.push_back(offset);
  return words_.number_of({words.begin(), words.size()});
}

PortUse AccessTable::port_use(const AccessPattern& access) {
  if (geometry_.broadcast_groups <= 1)
    if (const auto use = bank_use_of_strides(access, geometry_.banks, geometry_.bank_width_bytes))
      return {*use, use->passes};
  const auto [number, fresh] = number_of(access, kOfBanks);
  if (fresh) answers_.push_back({model::port_use(access, geometry_)});
  return answers_[number].port;
}

std::int64_t AccessTable::granules_touched(const AccessPattern& access, std::int64_t granule) {
  if (const auto granules = granules_of_strides(access, granule)) return *granules;
  const auto [number, fresh] = number_of(access, granule);
  if (fresh) answers_.push_back({{}, model::granules_touched(access.addresses(), granule)});
  return answers_[number].granules;
}

}  // namespace tilescope::model
