// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/dram_channels.h"

#include <algorithm>
#include <utility>

#include "sim/memory/dram.h"

namespace tilescope::sim {

DramChannels::DramChannels(const DramSpec& spec, std::int64_t channels)
    : spec_(spec), next_of_(static_cast<std::size_t>(channels / spec.pseudo_channels), kNever) {
  for (std::size_t c = 0; c < next_of_.size(); ++c) channels_.push_back(std::make_unique<DramChannel>(spec));
}
DramChannels::~DramChannels() = default;

Clock DramChannels::push(const DramAccess& access) {
  const auto c = static_cast<std::size_t>(spec_.controller_of(access.channel));
  channels_[c]->push(access.request);
  next_of_[c] = channels_[c]->next().value_or(kNever);
  next_ = std::min(next_, next_of_[c]);
  return next_of_[c];
}

void DramChannels::run(Clock until, std::vector<DramServed>& served) {
  if (next_ >= until) return;
  next_ = kNever;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    if (next_of_[c] < until) {
      channels_[c]->run(until, served);
      if (watcher_) watcher_(c, log_);
      next_of_[c] = channels_[c]->next().value_or(kNever);
    }
    next_ = std::min(next_, next_of_[c]);
  }
}

std::int64_t DramChannels::waiting_writes(std::int64_t channel) const {
  return channels_[static_cast<std::size_t>(spec_.controller_of(channel))]->waiting_writes();
}

bool DramChannels::accepts(std::int64_t channel, std::int64_t bank, bool write) const {
  return channels_[static_cast<std::size_t>(spec_.controller_of(channel))]->accepts(
      write, spec_.first_bank_of(channel) + bank);
}

void DramChannels::watch(Watcher watcher) {
  watcher_ = std::move(watcher);
  for (const auto& c : channels_) c->watch(log_);
}

std::int64_t DramChannels::activates() const {
  std::int64_t sum = 0;
  for (const auto& c : channels_) sum += c->activates();
  return sum;
}

std::int64_t DramChannels::refreshes(Clock until) const {
  std::int64_t sum = 0;
  for (const auto& c : channels_) sum += c->refreshes(until);
  return sum;
}

}  // namespace tilescope::sim
