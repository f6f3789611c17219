// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that constructions of the same stages for many chips share: they are made and counted once for all chips of
// one geometry. Results do not depend on the pools. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "arch/spec.h"
#include "construct/restrictions.h"
#include "expr/expression.h"

namespace tilescope::construct {

class CandidatePool;

// The chip without the figures that affect only the time of programs, not which programs there are and what they do:
// the numbers of cores and of threads and blocks on them, rates, latencies and pipes, capacities of caches and DRAM,
// launches, calibration. Chips with equal keys share pools.
arch::ArchSpec geometry_key(const arch::ArchSpec& a);

class CandidatePools {
 public:
  // Evicts the least recently used pools, before another is made, until the pools hold at most `max_bytes`.
  explicit CandidatePools(std::size_t max_bytes);
  ~CandidatePools();
  CandidatePools(const CandidatePools&) = delete;
  CandidatePools& operator=(const CandidatePools&) = delete;

  // The pool of a stage for chips of this one's geometry; valid until the next call.
  CandidatePool& of(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given);

  // Announces chips of one geometry whose programs are searched next, in place of the previous ones; times of programs
  // are then computed for all of them together. The pointers must stay valid until the next call.
  void expect(std::vector<const arch::ArchSpec*> chips);

  // Removes the pools of this chip's geometry, under any restrictions.
  void drop(const arch::ArchSpec& a);

  // Number of pools made, including those made again after eviction.
  std::uint64_t made() const { return made_; }

 private:
  CandidatePool& pool_of(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given);

  const std::size_t max_bytes_;
  std::list<std::unique_ptr<CandidatePool>> pools_;  // most recently used first
  std::vector<const arch::ArchSpec*> expected_;
  std::uint64_t made_ = 0;
};

}  // namespace tilescope::construct
