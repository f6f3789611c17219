// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/foreign_dram.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"
#include "sim/common/report.h"

namespace tilescope::sim {

ForeignDram::ForeignDram(std::unique_ptr<ForeignMemory> memory, std::string name, std::int64_t burst_bytes,
                         std::int64_t channels, std::int64_t pseudo_channels)
    : memory_(std::move(memory)),
      name_(std::move(name)),
      burst_bytes_(burst_bytes),
      pseudo_channels_(pseudo_channels),
      waiting_writes_(static_cast<std::size_t>(channels / pseudo_channels), 0) {}

void ForeignDram::refuse(std::string_view what) const { throw SimError(fmt::format("{}: {}", name_, what)); }

Clock ForeignDram::push(const DramAccess& access) {
  const DramRequest& r = access.request;
  if (free_.empty()) {
    free_.push_back(accesses_.size());
    accesses_.emplace_back();
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  // Where a miss waited for another to end, the memory may already have been told of that time.
  const Clock arrival = std::max(r.arrival, until_);
  accesses_[place] = {{.id = r.id, .write = r.write, .row_hit = true, .bursts = r.bursts, .accepted = arrival},
                      access.channel};
  if (r.write) ++waiting_writes_[static_cast<std::size_t>(access.channel / pseudo_channels_)];
  // Units that lie in one burst, or in neighbouring ones, are asked for together.
  std::int64_t begin = -1, end = -1;
  const auto hand_over = [&] {
    if (end > begin) ask(place, access.line_address + begin, end - begin, r.merges, arrival);
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

void ForeignDram::ask(std::size_t access, std::int64_t address, std::int64_t bytes, bool partial, Clock arrival) {
  const std::uint64_t id = first_id_ + open_.size();
  open_.push_back({access, address, arrival, false, partial});
  const bool continues = accesses_[access].left++ > 0;
  ++unanswered_;
  unsent_.push_back({id, address, bytes, accesses_[access].served.write, partial, arrival, continues});
}

Clock ForeignDram::next() const { return unanswered_ > 0 ? until_ : kNever; }

void ForeignDram::run(Clock until, std::vector<DramServed>& served) {
  if (until <= until_) return;
  if (unanswered_ == unsent_.size()) {  // so far it had nothing to answer, maybe for long
    answered_ = until_;
    if (!unsent_.empty())
      answered_ = std::max(answered_, std::ranges::min(unsent_, {}, &ForeignRequest::arrival).arrival);
  }
  if (!unsent_.empty()) memory_->request(unsent_);
  unsent_.clear();
  answers_.clear();
  memory_->advance(until, unanswered_, answers_);
  for (const ForeignAnswer& a : answers_) take(a, served);
  if (!answers_.empty()) answered_ = until;
  while (!open_.empty() && open_.front().answered) {
    open_.pop_front();
    ++first_id_;
  }
  until_ = until;
  if (unanswered_ > 0 && until - answered_ > kPatience)
    refuse(fmt::format("the request of address {:#x}, which arrived at clock {}, is not answered within {} clocks",
                       open_.front().address, open_.front().arrival.count(), kPatience.count()));
}

void ForeignDram::take(const ForeignAnswer& answer, std::vector<DramServed>& served) {
  const std::uint64_t number = answer.id - first_id_;
  if (answer.id >= first_id_ && number >= open_.size())
    refuse(fmt::format("answers a request {} that was never made", answer.id));
  if (answer.id < first_id_ || open_[number].answered) refuse(fmt::format("answers request {} twice", answer.id));
  Open& open = open_[number];
  if (answer.done < (answers_late() ? open.arrival : std::max(open.arrival, until_)))
    refuse(fmt::format("answers in the past: request {}, which arrived at clock {}, is done at {}, and {} is over",
                       answer.id, open.arrival.count(), answer.done.count(), until_.count()));
  if (answer.done - std::max(open.arrival, until_) > kPatience)
    refuse(fmt::format("answers request {} at clock {}, more than {} clocks after it arrived at {}", answer.id,
                       answer.done.count(), kPatience.count(), open.arrival.count()));
  if (answer.merges) return take_read(open, answer, served);
  open.answered = true;
  --unanswered_;
  Access& access = accesses_[open.access];
  access.served.done = std::max(access.served.done, answer.done);
  access.served.row_hit = access.served.row_hit && answer.row_hit;
  if (--access.left > 0) return;
  if (access.served.write) --waiting_writes_[static_cast<std::size_t>(access.channel / pseudo_channels_)];
  served.push_back(access.served);
  free_.push_back(open.access);
}

void ForeignDram::take_read(Open& open, const ForeignAnswer& answer, std::vector<DramServed>& served) {
  if (!open.partial) refuse(fmt::format("merges request {}, which is no write of a part, or does so twice", answer.id));
  open.partial = false;
  Access& access = accesses_[open.access];
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
