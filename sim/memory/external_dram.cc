// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/external_dram.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/integer.h"

namespace tilescope::sim {

ExternalDram::ExternalDram(std::unique_ptr<ForeignMemory<Clock>> memory, std::string name, std::int64_t burst_bytes,
                           std::int64_t channels, std::int64_t pseudo_channels)
    : requests_(std::move(memory), std::move(name)),
      burst_bytes_(burst_bytes),
      pseudo_channels_(pseudo_channels),
      waiting_writes_(static_cast<std::size_t>(channels / pseudo_channels), 0) {}

Clock ExternalDram::push(const DramAccess& access) {
  const DramRequest& r = access.request;
  if (free_.empty()) {
    free_.push_back(accesses_.size());
    accesses_.emplace_back();
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  // Where a miss waited for another to end, the memory may already have been told of that time.
  const Clock arrival = std::max(r.arrival, requests_.until());
  Access& own = accesses_[place];
  own = {{.id = r.id, .write = r.write, .row_hit = true, .bursts = r.bursts, .accepted = arrival}, access.channel};
  if (r.write) ++waiting_writes_[static_cast<std::size_t>(access.channel / pseudo_channels_)];
  // Units that lie in one burst, or in neighbouring ones, are asked for together.
  std::int64_t begin = -1, end = -1;
  const auto hand_over = [&] {
    if (end <= begin) return;
    requests_.ask(place,
                  {.address = access.line_address + begin,
                   .bytes = end - begin,
                   .write = r.write,
                   .partial = r.merges,
                   .arrival = arrival,
                   .continues = own.left > 0},
                  arrival);
    ++own.left;
  };
  const auto add = [&](std::int64_t unit, std::int64_t bytes) {
    const std::int64_t from = unit * bytes / burst_bytes_ * burst_bytes_;
    if (from > end) {
      hand_over();
      begin = from;
    }
    end = base::round_up((unit + 1) * bytes, burst_bytes_);
  };
  if (access.parts.none())
    for (std::uint32_t rest = access.sectors; rest != 0; rest &= rest - 1)
      add(std::countr_zero(rest), access.sector_bytes);
  else
    for (std::int64_t part = 0; part < kLineParts; ++part)
      if (access.parts.test(static_cast<std::size_t>(part))) add(part, access.part_bytes);
  hand_over();
  return arrival;
}

Clock ExternalDram::next() const { return requests_.waits() ? requests_.until() : kNever; }

void ExternalDram::run(Clock until, std::vector<DramServed>& served) {
  if (until <= requests_.until()) return;
  requests_.run(until, requests_.until(), answered_);
  for (const ForeignRequests<Clock>::Answered& a : answered_) take(a, served);
}

void ExternalDram::take(const ForeignRequests<Clock>::Answered& answered, std::vector<DramServed>& served) {
  const ForeignAnswer<Clock>& answer = answered.answer;
  Access& access = accesses_[answered.asker];
  if (answer.merges) return take_read(access, answer, served);
  access.served.done = std::max(access.served.done, answer.done);
  access.served.row_hit = access.served.row_hit && answer.row_hit;
  if (--access.left > 0) return;
  if (access.served.write) --waiting_writes_[static_cast<std::size_t>(access.channel / pseudo_channels_)];
  served.push_back(access.served);
  free_.push_back(answered.asker);
}

void ExternalDram::take_read(Access& access, const ForeignAnswer<Clock>& answer, std::vector<DramServed>& served) {
  access.read_hit = access.read_hit && answer.row_hit;
  if (++access.read < access.left) return;
  served.push_back({.id = access.served.id,
                    .row_hit = access.read_hit,
                    .bursts = access.served.bursts,
                    .accepted = access.served.accepted,
                    .done = answer.done,
                    .merges = true});
}

}  // namespace tilescope::sim
