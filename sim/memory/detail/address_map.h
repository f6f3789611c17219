// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a line of memory lies: in which slice of the cache next to the DRAM, which channel, bank and row of the DRAM.
// Neighbouring lines lie in neighbouring slices; where a run over all slices begins is hashed, and so are the
// channels of a slice, and banks, so that no stride stays in one of them. A chip's own `mapping` says instead where a
// line lies in the DRAM; slices stay as they are, each of which then reaches every channel.

#include <cstdint>
#include <optional>

#include "arch/dram_mapping.h"
#include "arch/hierarchy.h"
#include "base/divisor.h"
#include "sim/memory/detail/spread.h"
#include "sim/memory/dram_spec.h"

namespace tilescope::sim {

struct DramPlace {
  std::int64_t channel = 0, bank = 0, row = 0;
};

// By the bits that a file's `mapping` names.
struct MappedPlaces {
  MappedPlaces(const arch::DramLevel& dram, std::int64_t bytes_of_line);
  DramPlace of(std::int64_t line) const;

  arch::DramMapping mapping;
  DramSpec spec;
  std::int64_t line_bytes = 1;
};

struct AddressMapSpec {
  std::int64_t slices = 1;
  std::int64_t channels = 1;
  std::int64_t banks = 1;
  std::int64_t bank_groups = 1;    // that rows which follow each other lie in, turn by turn; 1: in neighbouring banks
  std::int64_t lines_per_row = 1;  // of one channel
  std::optional<MappedPlaces> mapped = std::nullopt;
};

// Where lines of a chip lie: of the cache next to the DRAM, and bursts where there is none. `line_bytes` is set to what
// a line has.
AddressMapSpec address_map_of(const arch::Hierarchy& chip, std::int64_t& line_bytes);

class AddressMap {
 public:
  explicit AddressMap(const AddressMapSpec& spec);

  std::int64_t slice(std::int64_t line) const { return turned(line, slices_); }
  // The line's number within its slice, without gaps.
  std::int64_t in_slice(std::int64_t line) const { return slices_.quotient(line); }
  // The line with that number in a slice.
  std::int64_t line_of(std::int64_t slice, std::int64_t in_slice) const;
  DramPlace dram(std::int64_t line) const;

 private:
  // Which of n a number falls to: neighbours to neighbours, every run of n beginning elsewhere.
  static std::int64_t turned(std::int64_t number, const base::Divisor& n) {
    const std::int64_t run = n.quotient(number);
    const std::int64_t at = number - run * n.value() + one_of(mixed(run), n.value());
    return at < n.value() ? at : at - n.value();
  }

  base::Divisor slices_, channels_, banks_, lines_per_row_;
  base::Divisor channels_per_slice_{1}, slices_per_channel_{1};
  std::int64_t bank_groups_ = 1, banks_of_group_ = 1;
  std::optional<MappedPlaces> mapped_;
};

}  // namespace tilescope::sim
