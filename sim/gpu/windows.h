#pragma once
// Windows of a simulation: what happened between two moments, per unit of progress, and whether two windows tell the
// same.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/memory/calendar.h"
#include "sim/tally.h"

namespace tilescope::sim {

// Of one core: its resident blocks and warps, steps that warps have begun there so far, and the least number of steps
// that any of them has before it.
struct StepProgress {
  std::int64_t blocks = 0, warps = 0;
  std::int64_t begun = 0;
  std::int64_t least_remaining = 0;
  bool all_inside = true;  // every warp is in the loop over steps
};

// One moment.
struct Mark {
  Cycle at = 0;  // with what was skipped
  Tally tally;
  std::vector<StepProgress> cores;  // where steps are looked at
};

// What progress is counted in.
using Progress = std::int64_t Tally::*;

struct Window {
  const Mark *from = nullptr, *to = nullptr;

  Cycle cycles() const { return to->at - from->at; }
  std::int64_t progress(Progress p) const { return to->tally.*p - from->tally.*p; }
  // Bytes read and written at a level.
  double bytes(LevelRole r) const;
};

// Of one unit of progress.
struct Pace {
  double cycles = 0, cache_bytes = 0, dram_bytes = 0;
};
Pace pace_of(const Window& w, Progress p);

// By how much paces that are called the same may differ, of the larger.
struct PaceTolerance {
  double time = 0, traffic = 0;
};
bool agree(const Pace& a, const Pace& b, const PaceTolerance& tolerance);

// The last marks of a run, and two neighbouring windows of one width that end at the last of them and agree.
class Marks {
 public:
  void add(Mark m);
  void clear() { marks_.clear(); }
  // Both windows together, of the first of these widths (in marks) that has two that agree.
  std::optional<Window> steady(std::span<const std::size_t> widths, Progress p, const PaceTolerance& tolerance) const;
  // All that is marked in two halves; nothing where that is one window.
  std::optional<std::pair<Window, Window>> halves() const;
  // The window up to the last mark, of that width, or nothing.
  std::optional<Window> last(std::size_t width) const;

 private:
  std::vector<Mark> marks_;
};

}  // namespace tilescope::sim
