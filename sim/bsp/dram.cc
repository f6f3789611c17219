// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/dram.h"

#include <algorithm>
#include <tuple>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"

namespace tilescope::sim::bsp {
namespace {

AddressMapSpec of_one_channel(const arch::ArchSpec& a) {
  std::int64_t line = 0;
  AddressMapSpec map = address_map_of(arch::hierarchy_of(a), line);
  map.slices = map.channels = 1;
  map.mapped.reset();  // `interleave` and `ports` say which channel
  return map;
}

}  // namespace

Dram::Dram(const arch::ArchSpec& a) : cores_(a.core.count), map_(of_one_channel(a)) {
  const arch::DramLevel& dram = *arch::dram_of(a);
  burst_ = arch::transaction_of(dram).n;
  row_ = dram.row.value_or(base::Bytes{burst_}).n;
  clocks_ = ClockRatio(dram.clock, a.clock);
  const DramSpec spec = dram_spec(dram);
  of_burst_ = spec.clocks_per_burst();
  for (std::int64_t c = 0; c < dram.channels; ++c) channels_.emplace_back(spec);
  if (dram.latency) rest_ = std::max(0_cycles, Cycle(dram.latency->n) - clocks_.cycle_at(conflict_clocks(spec, 1)));
}

// Bursts that an access touches, those of one row together.
void Dram::push(const Exchange& e, std::size_t transfer, std::int64_t channel, bool write, Cycle at) {
  const Transfer& t = e.transfers[transfer];
  for (std::size_t n = t.first_access; n < t.first_access + t.accesses; ++n) {
    const DramAccess& access = e.accesses[n];
    for (std::int64_t from = access.address; from < access.address + access.bytes;) {
      const std::int64_t until = std::min(access.address + access.bytes, (from / row_ + 1) * row_);
      const DramPlace place = map_.dram(from / burst_);
      const std::int64_t bursts = base::ceil_div(until, burst_) - from / burst_;
      channels_[static_cast<std::size_t>(channel)].push(
          {static_cast<int>(transfer), write, place.bank, place.row, bursts, clocks_.clock_at(at)});
      ++left_[transfer];
      from = until;
    }
  }
}

template <class Done>
void Dram::serve(Done done) {
  for (DramChannel& c : channels_) {
    while (const auto next = c.next()) {
      served_.clear();
      c.run(*next + 1_nck, served_);
      for (const DramServed& s : served_) {
        ++statistics_.requests;
        statistics_.transactions += s.bursts;
        statistics_.hits += s.row_hit ? s.bursts : s.bursts - 1;
        (s.write ? statistics_.written_bytes : statistics_.read_bytes) += s.bursts * burst_;
        const auto transfer = static_cast<std::size_t>(s.id);
        if (--left_[transfer] == 0) done(transfer, clocks_.cycle_at(s.done));
      }
    }
  }
}

Cycle Dram::busiest(const Exchange& e) const {
  std::vector<std::int64_t> bursts(channels_.size(), 0);
  for (const Transfer& t : e.transfers) {
    if (t.accesses == 0) continue;
    const std::int64_t channel = std::max(t.from, e.groups[t.group].front()) - cores_;
    for (std::size_t n = t.first_access; n < t.first_access + t.accesses; ++n)
      bursts[static_cast<std::size_t>(channel)] += bursts_of(e.accesses[n], burst_);
  }
  return clocks_.cycle_at(*std::max_element(bursts.begin(), bursts.end()) * of_burst_);
}

LevelStatistics Dram::counted(const Exchange& e) const {
  LevelStatistics out;
  for (const Transfer& t : e.transfers)
    for (std::size_t n = t.first_access; n < t.first_access + t.accesses; ++n) {
      const std::int64_t bursts = bursts_of(e.accesses[n], burst_);
      ++out.requests;
      out.transactions += bursts;
      (t.from < cores_ ? out.written_bytes : out.read_bytes) += bursts * burst_;
    }
  return out;
}

std::vector<Cycle> Dram::read(const Exchange& e, Cycle now) {
  std::vector<Cycle> ready(e.transfers.size());
  left_.assign(e.transfers.size(), 0);
  // The groups in turn, each channel beginning with another one: else all channels would read for the same receivers,
  // whose ports take less than the DRAM gives.
  std::vector<std::size_t> of_group(e.groups.size() * channels_.size(), 0);
  using Turn = std::tuple<std::size_t, std::size_t, std::size_t>;
  std::vector<std::vector<Turn>> turns(channels_.size());
  for (std::size_t n = 0; n < e.transfers.size(); ++n) {
    const Transfer& t = e.transfers[n];
    if (t.from < cores_) continue;
    const auto channel = static_cast<std::size_t>(t.from - cores_);
    const std::size_t groups = e.groups.size(), first = channel * groups / channels_.size();
    turns[channel].emplace_back(of_group[t.group * channels_.size() + channel]++, (t.group + groups - first) % groups,
                                n);
  }
  for (std::size_t channel = 0; channel < turns.size(); ++channel) {
    std::sort(turns[channel].begin(), turns[channel].end());
    for (const auto& [round, group, n] : turns[channel]) push(e, n, static_cast<std::int64_t>(channel), false, now);
  }
  serve([&](std::size_t transfer, Cycle done) { ready[transfer] = done + rest_; });
  return ready;
}

Cycle Dram::write(const Exchange& e, const std::vector<std::pair<Cycle, std::size_t>>& arrived) {
  std::vector<std::pair<Cycle, std::size_t>> in_order = arrived;
  std::sort(in_order.begin(), in_order.end());
  left_.assign(e.transfers.size(), 0);
  for (const auto& [at, n] : in_order) push(e, n, e.groups[e.transfers[n].group].front() - cores_, true, at);
  Cycle end{};
  serve([&](std::size_t /*transfer*/, Cycle done) { end = std::max(end, done); });
  return end;
}

std::int64_t Dram::refreshes(Cycle until) const {
  std::int64_t sum = 0;
  for (const DramChannel& c : channels_) sum += c.refreshes(clocks_.clock_at(until));
  return sum;
}

}  // namespace tilescope::sim::bsp
