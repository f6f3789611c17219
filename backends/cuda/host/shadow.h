#pragma once
// Who touched each element of an array last, and since which barrier: finds what two threads may not both do.
//
// Epochs count barriers and beginnings of blocks through the whole run; two touches race where they have one epoch (or
// lie in two blocks of one kernel), come from two threads, and one of them writes.
// Ignores: of several reads of one element only the latest epoch's are remembered.

#include <cstdint>
#include <vector>

namespace tilescope::cuda::host {

struct Epochs {
  std::uint32_t now = 1;
  std::uint32_t block = 1;   // the first one of the running block
  std::uint32_t kernel = 1;  // of the running kernel
};

class Shadow {
 public:
  Shadow() = default;
  // A scratchpad begins anew with every block; memory holds what earlier kernels wrote, and inputs from the beginning.
  enum class Kind : std::uint8_t { kShared, kMemory, kInput };
  Shadow(const char* name, Kind kind, std::int64_t bytes, std::int64_t granule);

  // A touch of the running thread; fails (host/place.h) where it races or reads what nobody wrote.
  void read(std::int64_t offset, int bytes, const Epochs& e);
  void write(std::int64_t offset, int bytes, const Epochs& e);
  // An asynchronous write of the running thread begins, or has arrived for it.
  void begin_async(std::int64_t offset, int bytes, const Epochs& e);
  void end_async(std::int64_t offset, int bytes, const Epochs& e);

  // An element that nobody ever wrote, or -1.
  std::int64_t unwritten() const;

 private:
  struct Touch {
    std::uint32_t epoch = 0;  // 0: never
    std::int32_t thread = 0;
  };
  struct Cell {
    Touch write, read, under_way;
  };
  // Since when touches of other blocks and threads count.
  std::uint32_t begin(const Epochs& e) const { return kind_ == Kind::kShared ? e.block : e.kernel; }
  bool races(const Touch& t, const Epochs& e) const;
  void check(const char* does, const char* did, const Touch& t, std::int64_t cell, const Epochs& e) const;
  template <class Visit>
  void each_cell(std::int64_t offset, int bytes, Visit visit);

  const char* name_ = "";
  Kind kind_{};
  std::int64_t granule_ = 1;
  std::vector<Cell> cells_;
};

}  // namespace tilescope::cuda::host
