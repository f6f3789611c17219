// SPDX-License-Identifier: Apache-2.0
#pragma once
// The programs of one stage on chips of one geometry. Each is made, laid out and counted once, whichever of the chips
// asks for it first; what they take is the chip's own business. Results do not depend on what was asked before.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "arch/spec.h"
#include "base/counted_memory.h"
#include "construct/detail/layout.h"
#include "construct/detail/tiles.h"
#include "construct/restrictions.h"
#include "expr/expression.h"
#include "model/simt/counts.h"

namespace tilescope::construct {

// What register tiles grow from: single elements, a register tile of filter taps that read overlapping elements, or the
// fragments of a matrix instruction.
struct Seed {
  std::shared_ptr<const tile::TileSpace> space;
  tile::Extents unit;
  std::size_t evaluated = 0;               // tiles that the cost model sees, of those that waste little and more
  std::optional<std::size_t> instruction;  // of the chip's `compute`; none: multiply-adds of single threads
  tile::MicroKernel kernel = {};
  bool apart = false;  // its tiles are ranked among themselves first, so that they take no other tile's place
};

struct Candidate {
  tile::StageProgram program;  // states some registers; how many is for each chip to say
  std::int64_t threads = 0;    // of a block, producers among them
  base::Bytes scratchpad;      // of a block
  // The first candidate with the same tiles and sharing, and the first one whose threads keep as much and are as many.
  std::uint32_t tiles = 0, size = 0;
  std::optional<model::Counts> counts;  // where a chip that it fits has asked for them
};

// The registers that a candidate states on a chip whose compiler would be held to `held`; nothing where its blocks do
// not fit with them, or less would do.
std::optional<std::int64_t> stated_registers(const Candidate& c, const model::Counts& counts, std::int64_t held,
                                             const arch::ArchSpec& a);

class BatchedTimes;

class CandidatePool {
 public:
  using Id = std::uint32_t;

  // A block tile over a register tile, and what it asks of a chip.
  struct Tile {
    tile::Extents registers, block;
    TileWork work;
    std::optional<Id> laid_out = {};
  };
  // Of one seed. The first ones waste little of an axis, where enough of them do; the rest more.
  struct Tiles {
    std::vector<Tile> all;
    std::size_t strict = 0;
  };

  CandidatePool(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given);
  ~CandidatePool();
  CandidatePool(const CandidatePool&) = delete;
  CandidatePool& operator=(const CandidatePool&) = delete;

  // Whether it is that of the stage, of chips of this one's geometry, and of the restrictions.
  bool is_of(const expr::Expression& one_stage, const arch::ArchSpec& neutral, const Restrictions& given) const;
  bool is_of_geometry(const arch::ArchSpec& neutral) const { return geometry_ == neutral; }

  const std::vector<Seed>& seeds() const { return seeds_; }
  const Candidate& operator[](Id id) const { return candidates_[id]; }
  // What a candidate does; counted where it was not yet.
  const model::Counts& counts(Id id);

  // The tiles of a seed under such limits, in the order in which they were found.
  Tiles& tiles(std::size_t seed, const GrowthLimits& limits);
  // A tile of a seed as a program.
  Id laid_out(std::size_t seed, const GrowthLimits& limits, Tile& tile);
  // The program with its rows as they are, with its reduction in so many parts, and by one choice, of chips of so many
  // cores.
  Id with_plain_rows(Id id);
  std::optional<Id> split(Id id, std::int64_t parts);
  // As construct::with_deepest_pipeline and construct::with_long_rows.
  std::optional<Id> with_deepest_pipeline(Id id);
  std::optional<Id> with_long_rows(Id id);
  std::span<const Id> others(Id id, LayoutKnob knob, std::int64_t cores);
  // Its construct::neighbouring_tiles; none where a block tile is given.
  std::span<const Id> neighbouring(Id id);
  // Programs whose threads share reductions, on such chips.
  const std::vector<Id>& sharing(const GrowthLimits& limits, std::int64_t cores, std::int64_t max_threads);
  // For what no aligned tile covers: any tile of single elements of the seed, straight from memory.
  std::vector<Id> unaligned(std::size_t seed, GrowthLimits limits);

  // The times of its candidates on chips of its geometry that are going to be searched for; null where none are
  // expected.
  BatchedTimes* expected() { return expected_.get(); }
  void expect(const std::vector<const arch::ArchSpec*>& chips);
  void expect_none();

  // Of what grows with its candidates, but for the costs that it remembers.
  std::size_t bytes() const;
  std::size_t candidates() const { return candidates_.size(); }
  std::size_t counted() const { return counted_; }  // of them

 private:
  Id add(tile::StageProgram&& p);
  LayoutRules rules(bool pads, std::int64_t cores = 1);
  GrowthLimits limits_of(const Seed& seed, GrowthLimits limits) const;
  void add_tiles(const Seed& seed, const GrowthLimits& limits, Tiles& out);
  // With what block tiles over it were grown from last, and which tiles these are.
  struct RegisterTile {
    LevelTile tile;
    AxisChoices choices;
    std::vector<std::size_t> pairs;
  };
  void add_pairs(const Seed& seed, const GrowthLimits& limits, RegisterTile& registers, const tile::Extents& step,
                 double epsilon, Tiles& out);
  std::vector<LevelTile> given_tile(const Seed& seed, const GrowthLimits& limits, const tile::Extents& registers,
                                    const tile::Extents& step) const;
  using Ids = std::span<const Id>;
  // What a choice makes of a candidate, on chips of so many cores.
  Ids made_by(LayoutKnob knob, Id id, std::int64_t cores);
  using ByHash = std::pmr::unordered_multimap<std::size_t, Id>;
  // The candidate of that hash that is the same, or `id` itself, which is added then.
  template <class Same>
  Id first_of(ByHash& known, std::size_t hash, Id id, const Same& same);

  const expr::Expression stage_;
  const arch::ArchSpec geometry_;  // neutral
  const Restrictions given_;
  arch::ArchSpec chip_;  // neutral too, but for cores where a knob asks for them
  const model::Geometry counted_by_;
  model::CachedCosts known_;
  LayoutMemory layouts_;
  std::vector<Seed> seeds_;

  base::CountedMemory memory_;
  std::pmr::monotonic_buffer_resource arena_{&memory_};  // of candidates, and of tables and lists of them
  std::pmr::deque<Candidate> candidates_{&arena_};
  ByHash by_hash_{&arena_}, by_tiles_{&arena_}, by_size_{&arena_};
  std::map<std::pair<std::size_t, GrowthLimits>, Tiles> tiles_;
  std::pmr::unordered_map<Id, Id> plain_{&arena_};
  std::pmr::map<std::pair<Id, std::int64_t>, std::optional<Id>> split_{&arena_};
  std::pmr::unordered_map<Id, std::optional<Id>> deepest_{&arena_}, long_rows_{&arena_};
  // By place of the knob. Of knobs that do not ask for cores: of each candidate, without data where it was not asked
  // for yet.
  std::pmr::deque<std::array<Ids, kLayoutKnobs>> others_{&arena_};
  std::pmr::map<std::tuple<Id, std::size_t, std::int64_t>, Ids> others_by_cores_{&arena_};
  std::pmr::unordered_map<Id, Ids> neighbouring_{&arena_};
  std::vector<tile::StageProgram> made_;  // by one choice
  std::map<std::tuple<GrowthLimits, std::int64_t, std::int64_t>, std::vector<Id>> sharing_;
  std::unique_ptr<BatchedTimes> expected_;
  std::size_t counted_ = 0, tile_bytes_ = 0;
};

}  // namespace tilescope::construct
