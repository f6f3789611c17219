// SPDX-License-Identifier: Apache-2.0
#pragma once
// When the controller of a DRAM channel turns from reads to writes and back, as its file chooses: it drains the writes
// that it has, or serves one direction until the other is due by its watermarks.

#include <cstddef>
#include <cstdint>

#include "sim/memory/dram_spec.h"

namespace tilescope::sim {

class DramDirection {
 public:
  explicit DramDirection(const DramSpec& spec) : spec_(spec) {}

  // What the controller holds.
  struct Waiting {
    std::size_t reads = 0, writes = 0;  // that are not at their banks
    std::size_t held_writes = 0;        // all that count against what it takes
    bool rests = false;                 // nothing is at a bank
    bool idle = false;                  // the last command is long over
  };
  enum class Choice : std::uint8_t { kStays, kDrains, kTurns };
  // Whether it begins to drain, or serves the other direction alone from here on: writes from the high watermark on, or
  // while there are no reads, and then until the low one, or the last where no read waits.
  Choice choose(const Waiting& w);
  // Whether the next request that goes to its bank is a write.
  bool writes() const { return drain_ > 0 || writes_only_; }
  // A request has gone to its bank. Whether that ends a drain.
  bool goes_on() {
    if (drain_ == 0) return false;
    --drain_;
    return drain_ == 0;
  }

 private:
  Choice choose_by_watermarks(const Waiting& w, bool idles);

  const DramSpec& spec_;
  std::size_t drain_ = 0;     // writes that go to the banks before the next read
  bool writes_only_ = false;  // no reads are served until the low watermark
};

}  // namespace tilescope::sim
