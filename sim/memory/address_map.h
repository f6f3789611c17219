#pragma once
// Where a line of memory lies: in which slice of the device's cache, which channel, bank and row of the DRAM.
// Neighbouring lines lie in neighbouring slices; where a run over all slices begins is hashed, and so are banks, so
// that no stride stays in one of them.
//
// Ignores: the chip's own `mapping`.

#include <cstdint>

namespace tilescope::sim {

struct AddressMapSpec {
  std::int64_t slices = 1;
  std::int64_t channels = 1;
  std::int64_t banks = 1;
  std::int64_t lines_per_row = 1;  // of one channel
};

struct DramPlace {
  std::int64_t channel = 0, bank = 0, row = 0;
};

class AddressMap {
 public:
  explicit AddressMap(const AddressMapSpec& spec) : spec_(spec) {}

  std::int64_t slice(std::int64_t line) const;
  // The line's number within its slice, without gaps.
  std::int64_t in_slice(std::int64_t line) const { return line / spec_.slices; }
  // The line with that number in a slice.
  std::int64_t line_of(std::int64_t slice, std::int64_t in_slice) const;
  DramPlace dram(std::int64_t line) const;

 private:
  AddressMapSpec spec_;
};

}  // namespace tilescope::sim
