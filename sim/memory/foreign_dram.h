// SPDX-License-Identifier: Apache-2.0
#pragma once
// A user's memory in place of our channels: it sees addresses and bytes, and is held to the order of time. A
// request of sectors that do not lie side by side becomes one of each run of them.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/memory/dram_model.h"

namespace tilescope::sim {

struct ForeignRequest {
  std::uint64_t id = 0;
  std::int64_t address = 0, bytes = 0;  // multiples of a burst
  bool write = false;
  bool partial = false;  // a write of a part of what is written whole
  Clock arrival{};       // not before the `until` of the last advance
  // A piece of one request of the caches, of which the one before is another: our channels serve them as one.
  bool continues = false;
};

struct ForeignAnswer {
  std::uint64_t id = 0;
  Clock done{};
  bool row_hit = false;
  bool merges = false;  // the read of a partial write, which is answered once more when it is written
};

class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
  virtual void request(std::span<const ForeignRequest> requests) = 0;
  // Decides what happens before `until` and adds what it has decided; `open` requests are not answered.
  virtual void advance(Clock until, std::size_t open, std::vector<ForeignAnswer>& answers) = 0;
  // DramModel::answers_late.
  virtual bool answers_late() const { return false; }
};

class ForeignDram final : public DramModel {
 public:
  // A request that is under way for so many clocks, while nothing is answered, is never answered; nor is one whose
  // answer lies further ahead than that.
  static constexpr Clock kPatience = 1'000'000_nck;

  // `name` begins what is said of its mistakes: a file's place, a socket's name. So many of the channels, as the chip's
  // file has it, share a controller.
  ForeignDram(std::unique_ptr<ForeignMemory> memory, std::string name, std::int64_t burst_bytes, std::int64_t channels,
              std::int64_t pseudo_channels);

  Clock push(const DramAccess& access) override;
  // Throws SimError, and says what was wrong, where an answer is in the past, comes twice, belongs to no request or
  // does not come.
  void run(Clock until, std::vector<DramServed>& served) override;
  Clock next() const override;
  bool answers_late() const override { return memory_->answers_late(); }
  std::int64_t waiting_writes(std::int64_t channel) const override {
    return waiting_writes_[static_cast<std::size_t>(channel / pseudo_channels_)];
  }
  // Tells nothing: what happens inside is not known.
  void watch(Watcher) override {}

 private:
  // What the caches asked for.
  struct Access {
    DramServed served;
    std::int64_t channel = 0;
    int left = 0;  // requests that are not answered
    int read = 0;  // of those that are merged, so many were read
    bool read_hit = true;
  };
  // What the memory was asked for.
  struct Open {
    std::size_t access = 0;
    std::int64_t address = 0;
    Clock arrival{};
    bool answered = false;
    bool partial = false;  // and its read is not told
  };

  void ask(std::size_t access, std::int64_t address, std::int64_t bytes, bool partial, Clock arrival);
  void take(const ForeignAnswer& answer, std::vector<DramServed>& served);
  void take_read(Open& open, const ForeignAnswer& answer, std::vector<DramServed>& served);
  [[noreturn]] void refuse(std::string_view what) const;

  std::unique_ptr<ForeignMemory> memory_;
  std::string name_;
  std::int64_t burst_bytes_ = 1, pseudo_channels_ = 1;
  std::vector<Access> accesses_;
  std::vector<std::size_t> free_;  // places of them
  std::deque<Open> open_;          // by id, from first_id_ on
  std::uint64_t first_id_ = 0;
  std::size_t unanswered_ = 0;
  std::vector<ForeignRequest> unsent_;
  std::vector<ForeignAnswer> answers_;
  std::vector<std::int64_t> waiting_writes_;  // by controller
  Clock until_{};                             // of the last advance
  Clock answered_{};                          // when it last answered, or had nothing to answer
};

}  // namespace tilescope::sim
