// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every program that the searches may try for one stage on a chip: a list of knobs with few options each. What is not
// among the options (thread order, loop order, unrolling, matrix instructions) stays as make_stage_program leaves it.

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

// The source of chance of a search; the same sequence for the same seed.
using Random = std::mt19937_64;

// How an input gets to the threads: straight from memory, one element or as many as there are at a time; or cached,
// with rows as they are, longer by a bank, by a vector or by alignment rule 3, or rotated by a vector or a bank each.
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

// One option of every knob of one of the ways to collapse the stage's loops.
struct Point {
  std::size_t collapse = 0;
  std::vector<std::size_t> options;  // by knob, an index

  auto operator<=>(const Point&) const = default;
};

// What the chip says about tiles, in elements of the stage.
struct SearchLimits {
  std::int64_t transaction = 1;  // of memory
  std::int64_t vector = 1;       // of one access of one thread
  std::int64_t bank = 1;
  std::int64_t banks = 1;
  std::int64_t thread_results = 0;  // that fit one thread's registers
  std::int64_t group_m = 1;         // rows of blocks
};

class SearchSpace {
 public:
  // `a` must live as long as this.
  SearchSpace(const expr::Expression& one_stage, const arch::ArchSpec& a);

  const arch::ArchSpec& chip() const { return chip_; }
  const model::Machine& machine() const { return machine_; }
  const SearchLimits& limits() const { return limits_; }
  // As matrix product where the stage is one, neighbouring loops collapsed, no loops collapsed; each once.
  std::size_t collapses() const { return collapses_.size(); }
  // The first of them are those that construction uses.
  std::size_t constructed_collapses() const { return constructed_; }
  const std::shared_ptr<const tile::TileSpace>& space(std::size_t collapse) const { return collapses_[collapse].space; }
  const std::vector<Knob>& knobs(std::size_t collapse) const { return collapses_[collapse].knobs; }

  // How many points there are, programs or not; beyond 2^53 rounded.
  double points() const;

  // The program that a point says; nothing where there is none. Different points say different programs. A program
  //   fits the chip, and its threads' results fit their registers;
  //   has a warp of threads at least, or one block for everything;
  //   computes at most as many elements of an axis for nothing as the axis has (alignment rule 4, its loosest);
  //   is not what another point says: no padding by what another cache policy pads by, no pipeline without cached
  //   steps;
  //   holds its compiler to the registers that it is expected to need.
  std::optional<tile::StageProgram> program_at(const Point& p) const;

  // Any point of a way to collapse loops, each as likely as the others.
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

// An index below n, each as likely as the others; n is at least 1.
std::size_t any_below(Random& random, std::size_t n);

}  // namespace tilescope::construct
