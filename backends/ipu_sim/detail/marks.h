// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bit for each byte of a memory, and such bits that last one exchange.

#include <cstdint>
#include <optional>
#include <vector>

namespace tilescope::ipu_sim {

class Marks {
 public:
  explicit Marks(std::int64_t count);

  void set(std::int64_t begin, std::int64_t count);
  void clear(std::int64_t begin, std::int64_t count);
  // The first one of the range that is set, or is not.
  std::optional<std::int64_t> first_set(std::int64_t begin, std::int64_t count) const;
  std::optional<std::int64_t> first_clear(std::int64_t begin, std::int64_t count) const;

 private:
  std::vector<std::uint64_t> words_;
};

// Marks that are all clear at the beginning of each phase; a group of them is cleared when a phase first sets one of
// it, so that a phase costs what it touches.
class PhaseMarks {
 public:
  explicit PhaseMarks(std::int64_t count);

  // Phases count up from 1.
  void set(std::int64_t begin, std::int64_t count, std::int64_t phase);
  std::optional<std::int64_t> first_set(std::int64_t begin, std::int64_t count, std::int64_t phase) const;

 private:
  Marks marks_;
  std::vector<std::int64_t> phases_;  // by group: of which phase its marks are
};

}  // namespace tilescope::ipu_sim
