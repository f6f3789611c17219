// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds races: remembers for each element of an array which thread accessed it last, and in which epoch.
//
// Epochs count barriers and beginnings of blocks through the whole run. Two accesses race where they have one epoch (or
// lie in two blocks of one kernel), come from two threads, and one of them writes. In a block with mbarriers, an access
// came before another if the other's thread knows of it (host/clocks.h).
// Ignores: reads of an element in epochs before that of its latest read; in blocks with mbarriers, reads before the
// latest one of each warp.

#include <cstdint>
#include <vector>

#include "backends/cuda/host/clocks.h"

namespace tilescope::cuda::host {

struct Epochs {
  std::uint32_t now = 1;
  std::uint32_t block = 1;   // the first epoch of the running block
  std::uint32_t kernel = 1;  // the first epoch of the running kernel
  Clocks clocks;             // of the running block
};

class Shadow {
 public:
  Shadow() = default;
  // kShared is unwritten at the beginning of every block; kMemory holds what earlier kernels wrote; kInput is written
  // from the beginning.
  enum class Kind : std::uint8_t { kShared, kMemory, kInput };
  Shadow(const char* name, Kind kind, std::int64_t bytes, std::int64_t granule);

  // An access of the running thread. Fails (host/place.h) where it races or reads an element that no thread wrote.
  void read(std::int64_t offset, int bytes, const Epochs& e);
  void write(std::int64_t offset, int bytes, const Epochs& e);
  // begin_async(): an asynchronous write of the running thread begins. end_async(): the write has arrived for it.
  void begin_async(std::int64_t offset, int bytes, const Epochs& e);
  void end_async(std::int64_t offset, int bytes, const Epochs& e);

  // A bulk copy of the running thread writes until the mbarrier's current phase ends.
  void write_in_bulk(std::int64_t offset, int bytes, const void* mbarrier, const Epochs& e);
  // A block with mbarriers begins: remembers the latest read of each warp.
  void remember_warps(std::int64_t warps);

  // An element that no thread ever wrote, or -1.
  std::int64_t unwritten() const;

 private:
  struct Touch {
    std::uint32_t epoch = 0;  // 0: never
    std::int32_t thread = 0;
    Clocks::Time time;  // where the block has mbarriers
  };
  struct Cell {
    Touch write, read, under_way;
  };
  // The first epoch from which accesses of other blocks and threads count.
  std::uint32_t begin(const Epochs& e) const { return kind_ == Kind::kShared ? e.block : e.kernel; }
  bool races(const Touch& t, const Epochs& e) const;
  Touch touch(const Epochs& e) const;
  void check_writable(std::int64_t cell, const Epochs& e) const;
  void check_readers(std::int64_t cell, const Epochs& e) const;
  void check(const char* does, const char* did, const Touch& t, std::int64_t cell, const Epochs& e) const;
  template <class Visit>
  void each_cell(std::int64_t offset, int bytes, Visit visit);

  const char* name_ = "";
  Kind kind_{};
  std::int64_t granule_ = 1;
  std::vector<Cell> cells_;
  std::int64_t warps_ = 0;
  std::vector<std::uint32_t> reads_;  // by element and warp: time of its last read + 1, 0: none
};

}  // namespace tilescope::cuda::host
