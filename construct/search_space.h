// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every program that the searches may try for one stage on a chip: a list of knobs with few options each. Choices that
// are no knob (thread order, loop order, unrolling, matrix instructions) stay as make_stage_program leaves them.

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "arch/spec.h"
#include "expr/expression.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::construct {

// The random number generator of a search; the same sequence for the same seed.
using Random = std::mt19937_64;

// How an input reaches the threads: straight from memory, one element (kSingle) or as many as possible at a time
// (kDirect); or cached, with rows as they are, padded by a bank, by a vector or by alignment rule 3, or rotated by a
// vector or a bank each.
enum class CachePolicy : std::uint8_t {
  kSingle,
  kDirect,
  kCached,
  kPadBank,
  kPadVector,
  kPadRule,
  kRotated,
  kRotatedBank
};
inline constexpr std::int64_t kCachePolicies = 8;

// What a knob decides.
enum class KnobKind : std::uint8_t {
  kThreads,
  kVthread,
  kPerThread,
  kStep,
  kReductionTile,
  kSplit,
  kCachePolicy,
  kNumStages,
  kBlockOrder,
  kGroupM
};

struct Knob {
  KnobKind kind;
  std::size_t of = 0;                 // the tile axis, or the input of a cache policy
  std::vector<std::int64_t> options;  // extents or counts; a CachePolicy; a tile::BlockOrder
};

// A way to collapse the stage's loops, and one option of each of its knobs.
struct Point {
  std::size_t collapse = 0;
  std::vector<std::size_t> options;  // an index for each knob

  auto operator<=>(const Point&) const = default;
};

// Limits of the chip on tiles, in elements of the stage.
struct SearchLimits {
  std::int64_t transaction = 1;  // of memory
  std::int64_t vector = 1;       // of one access of one thread
  std::int64_t bank = 1;
  std::int64_t banks = 1;
  std::int64_t thread_results = 0;  // results that fit one thread's registers
  std::int64_t group_m = 1;         // rows of blocks in a group
};

class SearchSpace {
 public:
  // `a` must live as long as this.
  SearchSpace(const expr::Expression& one_stage, const arch::ArchSpec& a);

  const arch::ArchSpec& chip() const { return chip_; }
  const model::Machine& machine() const { return machine_; }
  const SearchLimits& limits() const { return limits_; }
  // Number of ways to collapse loops: as a matrix product where the stage is one, neighbouring loops collapsed, no
  // loops collapsed; equal ones count once.
  std::size_t collapses() const { return collapses_.size(); }
  // Construction uses this many of them, the first ones.
  std::size_t constructed_collapses() const { return constructed_; }
  const std::shared_ptr<const tile::TileSpace>& space(std::size_t collapse) const { return collapses_[collapse].space; }
  const std::vector<Knob>& knobs(std::size_t collapse) const { return collapses_[collapse].knobs; }

  // Number of points, whether they are programs or not; rounded beyond 2^53.
  double points() const;

  // The program at a point; nullopt where there is none. Different points have different programs. A program
  //   fits the chip, and its threads' results fit their registers;
  //   has at least a warp of threads, or one block for everything;
  //   computes at most as many surplus elements along an axis as the axis has (alignment rule 4, its loosest);
  //   is not the program of another point: no padding that equals that of another cache policy, no pipeline without
  //   cached steps;
  //   limits its compiler to the registers that it is expected to need.
  std::optional<tile::StageProgram> program_at(const Point& p) const;

  // A uniformly random point of a way to collapse loops.
  Point any_point(Random& random, std::size_t collapse) const;

 private:
  struct Collapsed {
    std::shared_ptr<const tile::TileSpace> space;
    std::vector<Knob> knobs;
  };

  const arch::ArchSpec& chip_;
  model::Machine machine_;
  SearchLimits limits_;
  std::vector<Collapsed> collapses_;
  std::size_t constructed_ = 0;
};

// A uniformly random index below n; n is at least 1.
std::size_t any_below(Random& random, std::size_t n);

}  // namespace tilescope::construct
