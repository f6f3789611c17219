// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs on chips of one geometry, each once, with what they do. What they take is each chip's own business.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <unordered_map>

#include "arch/spec.h"
#include "base/counted_memory.h"
#include "model/simt/cached_costs.h"
#include "model/simt/counts.h"
#include "tile/program.h"

namespace tilescope::construct {

struct Candidate {
  tile::StageProgram program;       // states some registers; how many is for each chip to say
  std::int64_t threads = 0;         // of a block, producers among them
  base::Bytes scratchpad;           // of a block
  std::int64_t tensor_columns = 0;  // of a block, as tile/microkernel/tcgen05.h says
  // The first candidate with the same tiles and sharing, and the first one whose threads keep as much and are as many.
  std::uint32_t tiles = 0, size = 0;
  std::optional<model::Counts> counts;  // where a chip that it fits has asked for them
};

// The registers that a candidate states on a chip whose compiler would be held to `held`; nothing where its blocks do
// not fit with them, or less would do.
std::optional<std::int64_t> stated_registers(const Candidate& c, const model::Counts& counts, std::int64_t held,
                                             const arch::ArchSpec& a);

class CandidateStore {
 public:
  using Id = std::uint32_t;

  explicit CandidateStore(const arch::ArchSpec& geometry) : counted_by_(model::make_geometry(geometry)) {}
  CandidateStore(const CandidateStore&) = delete;
  CandidateStore& operator=(const CandidateStore&) = delete;

  // The program's number: that of an equal one where there is one, else the next.
  Id add(tile::StageProgram&& p);
  const Candidate& operator[](Id id) const { return all_[id]; }
  std::size_t size() const { return all_.size(); }
  // What a candidate does; counted where it was not yet.
  const model::Counts& counts(Id id);
  std::size_t counted() const { return counted_; }  // of them

  // The costs that counting remembers, and the memory of what is kept with candidates.
  model::CachedCosts& costs() { return costs_; }
  std::pmr::memory_resource* arena() { return &arena_; }
  // Of that memory.
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  using ByHash = std::pmr::unordered_multimap<std::size_t, Id>;
  // The candidate of that hash that is the same, or `id` itself, which is added then.
  template <class Same>
  Id first_of(ByHash& known, std::size_t hash, Id id, const Same& same);

  const model::Geometry counted_by_;
  model::CachedCosts costs_{counted_by_};
  base::CountedMemory memory_;
  std::pmr::monotonic_buffer_resource arena_{&memory_};
  std::pmr::deque<Candidate> all_{&arena_};
  ByHash by_hash_{&arena_}, by_tiles_{&arena_}, by_size_{&arena_};
  std::size_t counted_ = 0;
};

}  // namespace tilescope::construct
