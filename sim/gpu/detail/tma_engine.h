// SPDX-License-Identifier: Apache-2.0
#pragma once
// A core's TMA engine: copies boxes one after the other and requests one line every `core.tma.line_interval`. As lines
// arrive they fill the scratchpad in whole passes, and an mbarrier of the block hears of their bytes.

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/gpu/detail/core_ports.h"
#include "sim/gpu/detail/load_store_unit.h"
#include "sim/gpu/detail/part_requests.h"
#include "sim/gpu/detail/resident_warps.h"
#include "sim/gpu/detail/tma_boxes.h"

namespace tilescope::sim {

// A box on its way to the scratchpad, or to memory.
struct Box {
  int block = 0, mbarrier = 0;  // place; of a load
  std::int64_t phase = 0;       // as the block ran them
  std::int64_t bytes = 0;       // whole
  bool multicast = false;       // of a load, to all blocks of the cluster
  std::vector<BoxLine> lines;
  int stores_for = -1;                             // warp that waits until the scratchpad is read; -1 of a load
  int copy = 0;                                    // by which it is counted
  std::vector<std::vector<BoxLine>> shadows = {};  // lines of shadow blocks, of a part of a chip
};

class TmaEngine final : public LineSink {
 public:
  TmaEngine(Cycle line_interval, ResidentWarps& warps, CorePorts& ports, LoadStoreUnit& memory, PartRequests* part)
      : line_interval_(line_interval), warps_(warps), ports_(ports), memory_(memory), part_(part) {}

  void prepare() { free_from_ = 0_cycles; }

  // Starts a load at `at`. What no line brings, beyond the tensor, is there at once.
  void load(Box box, Cycle at);
  // Starts a store of a box whose scratchpad has been read at `at`; the warp goes on when its last line is asked for.
  void store(Box box, Cycle at) { queue(std::move(box), at); }
  // Requests lines from `from` on; what is left at `until` is due later.
  void run(Cycle from, Cycle until);
  // Bytes of a load have arrived.
  void land(int number, std::int64_t bytes, Cycle at, Stall from) override;

 private:
  struct UnderWay {
    Box box;
    std::int64_t landed = 0;  // bytes
    std::size_t asked = 0;    // lines
  };

  int queue(Box box, Cycle at);
  UnderWay& box(int number) { return boxes_[static_cast<std::size_t>(number)]; }

  Cycle line_interval_;
  ResidentWarps& warps_;
  CorePorts& ports_;
  LoadStoreUnit& memory_;
  PartRequests* part_;
  std::vector<UnderWay> boxes_;
  std::vector<int> free_;
  std::deque<int> queued_;  // some of whose lines have not been asked for yet
  Cycle free_from_{};
};

}  // namespace tilescope::sim
