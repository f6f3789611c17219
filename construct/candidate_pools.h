// SPDX-License-Identifier: Apache-2.0
#pragma once
// What constructions share of stages that many chips are asked for: their programs, made and counted once for all chips
// of one geometry. Results do not depend on it. Not for several threads.

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

// The chip with the figures left out that decide what programs take, and not which there are and what they do: how many
// cores there are, and how many threads and blocks on them, rates, latencies and pipes, capacities of caches and DRAM,
// launches, calibration. Chips whose rest is equal share pools.
arch::ArchSpec geometry_key(const arch::ArchSpec& a);

class CandidatePools {
 public:
  // Keeps pools of so many bytes at least one of which was in use, the least recently used goes first.
  explicit CandidatePools(std::size_t max_bytes);
  ~CandidatePools();
  CandidatePools(const CandidatePools&) = delete;
  CandidatePools& operator=(const CandidatePools&) = delete;

  // Valid until the next call.
  CandidatePool& of(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given);

  // Chips that are going to be asked for, of one geometry, in place of those that were before: what programs take is
  // found for all of them at a time. They stay where they are until this is called again.
  void expect(std::vector<const arch::ArchSpec*> chips);

  // Lets go of the pools that chips of this one's geometry share, under whatever restrictions.
  void drop(const arch::ArchSpec& a);

  // Pools that were made, those that were made again after they had gone among them.
  std::uint64_t made() const { return made_; }

 private:
  CandidatePool& pool_of(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given);

  const std::size_t max_bytes_;
  std::list<std::unique_ptr<CandidatePool>> pools_;  // used last first
  std::vector<const arch::ArchSpec*> expected_;
  std::uint64_t made_ = 0;
};

}  // namespace tilescope::construct
