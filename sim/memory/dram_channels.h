// SPDX-License-Identifier: Apache-2.0
#pragma once
// The chip's own DRAM: a DramChannel for each controller.

#include <memory>
#include <vector>

#include "sim/memory/dram_model.h"

namespace tilescope::sim {

class DramChannel;

class DramChannels final : public DramModel {
 public:
  // `channels` counts the channels with a data bus of their own, that is, the pseudo-channels.
  DramChannels(const DramSpec& spec, std::int64_t channels);
  ~DramChannels() override;

  Clock push(const DramAccess& access) override;
  void run(Clock until, std::vector<DramServed>& served) override;
  Clock next() const override { return next_; }
  std::int64_t waiting_writes(std::int64_t channel) const override;
  void watch(Watcher watcher) override;

  // Whether the channel's controller would take a read or a write of one of its banks at once.
  bool accepts(std::int64_t channel, std::int64_t bank, bool write) const;
  std::int64_t activates() const;
  std::int64_t refreshes(Clock until) const override;

 private:
  DramSpec spec_;
  std::vector<std::unique_ptr<DramChannel>> channels_;
  std::vector<Clock> next_of_;  // by controller
  Clock next_ = kNever;         // minimum of next_of_
  Watcher watcher_;
  DramLog log_;  // of the controller that ran last
};

}  // namespace tilescope::sim
