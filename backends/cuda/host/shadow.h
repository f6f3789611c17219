// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who touched each element of an array last, and since which barrier: finds what two threads may not both do.
//
// Epochs count barriers and beginnings of blocks through the whole run; two touches race where they have one epoch (or
// lie in two blocks of one kernel), come from two threads, and one of them writes. Where a block has mbarriers, what
// came before is what a thread knows of (host/clocks.h).
// Ignores: of several reads of one element only the latest epoch's are remembered; of threads that know each other
// through mbarriers, the latest of each warp.

#include <cstdint>
#include <vector>

#include "backends/cuda/host/clocks.h"

namespace tilescope::cuda::host {

struct Epochs {
  std::uint32_t now = 1;
  std::uint32_t block = 1;   // the first one of the running block
  std::uint32_t kernel = 1;  // of the running kernel
  Clocks clocks;             // of the running block
};

class Shadow {
 public:
  Shadow() = default;
  // A scratchpad begins anew with every block; memory holds what earlier kernels wrote, and inputs from the beginning.
  enum class Kind : std::uint8_t { kShared, kMemory, kInput };
  Shadow(const char* name, Kind kind, std::int64_t bytes, std::int64_t granule);

  // A touch of the running thread; fails (host/place.h) where it races or reads what no thread wrote.
  void read(std::int64_t offset, int bytes, const Epochs& e);
  void write(std::int64_t offset, int bytes, const Epochs& e);
  // An asynchronous write of the running thread begins, or has arrived for it.
  void begin_async(std::int64_t offset, int bytes, const Epochs& e);
  void end_async(std::int64_t offset, int bytes, const Epochs& e);

  // A bulk copy of the running thread writes until the mbarrier's phase ends that is under way.
  void write_in_bulk(std::int64_t offset, int bytes, const void* mbarrier, const Epochs& e);
  // A block begins that has mbarriers.
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
  // Since when touches of other blocks and threads count.
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
  std::vector<std::uint32_t> reads_;  // by element and warp: one more than when it read last, 0 where it never did
};

}  // namespace tilescope::cuda::host
