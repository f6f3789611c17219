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
#include "construct/detail/candidate_store.h"
#include "construct/detail/layout.h"
#include "construct/detail/seed_tiles.h"
#include "construct/restrictions.h"
#include "expr/expression.h"

namespace tilescope::construct {

class BatchedTimes;

class CandidatePool {
 public:
  using Id = CandidateStore::Id;

  CandidatePool(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given);
  ~CandidatePool();
  CandidatePool(const CandidatePool&) = delete;
  CandidatePool& operator=(const CandidatePool&) = delete;

  // Whether it is that of the stage, of chips of this one's geometry, and of the restrictions.
  bool is_of(const expr::Expression& one_stage, const arch::ArchSpec& neutral, const Restrictions& given) const;
  bool is_of_geometry(const arch::ArchSpec& neutral) const { return geometry_ == neutral; }

  const std::vector<Seed>& seeds() const { return seeds_; }
  const Candidate& operator[](Id id) const { return candidates_[id]; }
  CandidateStore& candidates() { return candidates_; }

  // The tiles of a seed under such limits, in the order in which they were found.
  SeedTiles& tiles(std::size_t seed, const GrowthLimits& limits);
  // A tile of a seed as a program.
  Id laid_out(std::size_t seed, const GrowthLimits& limits, SeedTile& tile);
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

 private:
  LayoutRules rules(bool pads, std::int64_t cores = 1);
  using Ids = std::span<const Id>;
  // What a choice makes of a candidate, on chips of so many cores.
  Ids made_by(LayoutKnob knob, Id id, std::int64_t cores);
  // The candidate that `make` makes of the key, which is kept where that is not known yet; nothing where it makes none.
  template <class Known, class Make>
  std::optional<Id> once(Known& known, const typename Known::key_type& key, const Make& make);

  const expr::Expression stage_;
  const arch::ArchSpec geometry_;  // neutral
  const Restrictions given_;
  arch::ArchSpec chip_;  // neutral too, but for cores where a knob asks for them
  CandidateStore candidates_;
  std::pmr::memory_resource* arena_ = candidates_.arena();  // of tables and lists of them too
  LayoutMemory layouts_;
  std::vector<Seed> seeds_;

  std::map<std::pair<std::size_t, GrowthLimits>, SeedTiles> tiles_;
  std::pmr::unordered_map<Id, Id> plain_{arena_};
  std::pmr::map<std::pair<Id, std::int64_t>, std::optional<Id>> split_{arena_};
  std::pmr::unordered_map<Id, std::optional<Id>> deepest_{arena_}, long_rows_{arena_};
  // By place of the knob. Of knobs that do not ask for cores: of each candidate, without data where it was not asked
  // for yet.
  std::pmr::deque<std::array<Ids, kLayoutKnobs>> others_{arena_};
  std::pmr::map<std::tuple<Id, std::size_t, std::int64_t>, Ids> others_by_cores_{arena_};
  std::pmr::unordered_map<Id, Ids> neighbouring_{arena_};
  std::vector<tile::StageProgram> made_;  // by one choice
  std::map<std::tuple<GrowthLimits, std::int64_t, std::int64_t>, std::vector<Id>> sharing_;
  std::unique_ptr<BatchedTimes> expected_;
  std::size_t tile_bytes_ = 0;
};

}  // namespace tilescope::construct
