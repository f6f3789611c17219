// SPDX-License-Identifier: Apache-2.0
#pragma once
// When a kernel's register arrays are in use, by the order in which its statements stand: from the first access to the
// last, and through all of a loop where values stand before it or pass from one iteration to the next. Where values are
// made in place, an array that is computed from another one, element by element, takes its registers over: sums that
// are rounded for a store.

#include <cstdint>
#include <functional>
#include <vector>

#include "lower/kernel.h"

namespace tilescope::sim {

// Whether all threads of a block, or of more, wait there for each other.
bool is_barrier(const lower::Statement& s);

// 32-bit registers that a thread keeps the array in.
std::int64_t registers_of(const lower::Buffer& b);

class Lifetimes {
 public:
  enum class Made { kBeside, kInPlace };  // an array, by a loop that reads another one's elements for the last time

  explicit Lifetimes(const lower::Kernel& k, Made made = Made::kBeside);

  std::int64_t barriers() const { return static_cast<std::int64_t>(barriers_.size()); }
  // Whether the array's values are held across that barrier.
  bool held(std::size_t buffer, std::int64_t barrier) const;
  // The most 32-bit registers that those arrays which `counts` says yes of fill at a time; one that is read for the
  // last time makes room for one that is written there.
  std::int64_t most(const std::function<bool(std::size_t)>& counts) const;

 private:
  struct Life {
    std::int64_t first = -1, last = -1;
    bool read_first = false;
    std::int64_t last_touched = -1;  // itself, whatever the loops around it
  };
  // A statement that computes an array's elements from those of another one.
  struct Making {
    std::size_t made = 0, from = 0;
    std::size_t depth = 0;         // of the outermost of the loops over these elements
    std::int64_t at = 0, end = 0;  // of the statement, of that loop
  };

  void touch(const lower::Access& a, bool reads);
  void walk(const std::vector<lower::Statement>& body);
  void walk_loop(const lower::Loop& loop);
  void visit(const lower::Statement& s);
  void note_making(const lower::Compute& c);
  std::size_t outermost_over(const lower::Affine& elements) const;
  void make_in_place();
  bool in_registers(std::size_t buffer) const;

  const lower::Kernel& kernel_;
  std::vector<Life> of_;
  std::vector<int> loops_;  // indices of those around the statement in hand
  std::vector<Making> makings_;
  std::vector<std::int64_t> barriers_;
  std::int64_t now_ = 0;
};

}  // namespace tilescope::sim
