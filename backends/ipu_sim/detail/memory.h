// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of a core, or one that all cores reach over their ports: bytes, which of them anything wrote, and which of
// them the exchange under way reads and brings.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/ipu_sim/detail/marks.h"

namespace tilescope::ipu_sim {

class Memory {
 public:
  // Pages are made when anything of them is touched: one, of the whole capacity, where most of it is used (`view` of
  // all); small ones of a memory that stays empty for the most part. In bytes.
  Memory(std::int64_t capacity, std::int64_t page);
  explicit Memory(std::int64_t capacity) : Memory(capacity, capacity) {}

  // What all others ask for: whether the memory has the range.
  bool has(std::int64_t address, std::int64_t bytes) const {
    return address >= 0 && bytes <= capacity_ && address <= capacity_ - bytes;
  }
  // Up to the last byte that anything wrote.
  std::int64_t end() const { return end_; }

  // The first byte of the range that nothing wrote.
  std::optional<std::int64_t> first_unwritten(std::int64_t address, std::int64_t bytes) const;
  void write(std::int64_t address, const std::byte* from, std::int64_t bytes);
  void read(std::int64_t address, std::byte* to, std::int64_t bytes) const;
  // The bytes where they lie; the range is in one page. Those that nothing wrote are of no value.
  const std::byte* view(std::int64_t address, std::int64_t bytes);

  // Exchanges are numbered from 1 upwards. Each marks what it reads and brings before it copies anything.
  void send(std::int64_t address, std::int64_t bytes, std::int64_t exchange);
  // The first byte of the range that the exchange reads.
  std::optional<std::int64_t> first_sent(std::int64_t address, std::int64_t bytes, std::int64_t exchange) const;
  // Marks the range; the first byte of it that the exchange brings already, from a second writer.
  std::optional<std::int64_t> receive(std::int64_t address, std::int64_t bytes, std::int64_t exchange);
  // Writes a range of another memory, or of this one where the two ranges do not overlap.
  void copy(std::int64_t address, const Memory& from, std::int64_t source, std::int64_t bytes);

 private:
  struct Page {
    explicit Page(std::int64_t bytes);
    std::unique_ptr<std::byte[]> bytes;
    Marks written;
    PhaseMarks sent, received;
  };

  Page& page(std::int64_t number);
  const Page* find(std::int64_t number) const { return pages_[static_cast<std::size_t>(number)].get(); }
  // Calls visit(page, address in it, bytes) for the part of the range in each page.
  template <class Visit>
  void for_each_page(std::int64_t address, std::int64_t bytes, const Visit& visit) const;

  std::int64_t capacity_, page_bytes_, end_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace tilescope::ipu_sim
