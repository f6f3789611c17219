// SPDX-License-Identifier: Apache-2.0
#pragma once
// A user's memory in place of Tilescope's own channels. A request for sectors that are not contiguous becomes one
// request for each contiguous run.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/memory/dram_model.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::sim {

class ExternalDram final : public DramModel {
 public:
  // `name` starts messages about the memory's errors: a place in a file or a socket's name. `pseudo_channels` channels
  // share a controller, as the chip's file says.
  ExternalDram(std::unique_ptr<ForeignMemory<Clock>> memory, std::string name, std::int64_t burst_bytes,
               std::int64_t channels, std::int64_t pseudo_channels);

  Clock push(const DramAccess& access) override;
  // Throws what ForeignRequests::run() throws.
  void run(Clock until, std::vector<DramServed>& served) override;
  Clock next() const override;
  bool answers_late() const override { return requests_.memory().answers_late(); }
  std::int64_t waiting_writes(std::int64_t channel) const override {
    return waiting_writes_[static_cast<std::size_t>(channel / pseudo_channels_)];
  }
  // Does nothing: what happens inside the memory is unknown.
  void watch(Watcher) override {}

 private:
  // A request of the caches.
  struct Access {
    DramServed served;
    std::int64_t channel = 0;
    int left = 0;  // requests to the memory that are not answered
    int read = 0;  // merging requests whose read is done
    bool read_hit = true;
  };

  void take(const ForeignRequests<Clock>::Answered& answered, std::vector<DramServed>& served);
  void take_read(Access& access, const ForeignAnswer<Clock>& answer, std::vector<DramServed>& served);

  ForeignRequests<Clock> requests_;
  std::int64_t burst_bytes_ = 1, pseudo_channels_ = 1;
  std::vector<Access> accesses_;
  std::vector<std::size_t> free_;  // places in accesses_
  std::vector<ForeignRequests<Clock>::Answered> answered_;
  std::vector<std::int64_t> waiting_writes_;  // by controller
};

}  // namespace tilescope::sim
