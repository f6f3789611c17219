// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a sweep constructs, each once: programs of an operator for a chip under restrictions, which the rows of that
// chip and of its neighbours judge; for the .cc files of experiments/ alone.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "api/construct.h"
#include "arch/spec.h"
#include "construct/candidate_pools.h"
#include "construct/restrictions.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {

// As many as `compile` keeps by default: what its first one is, is the best here.
inline constexpr std::size_t kSearched = 10;

// Whether they are the same as far as sweeps restrict programs.
bool restrict_alike(const construct::Restrictions& a, const construct::Restrictions& b);

class SweepSearches {
 public:
  // `pool_bytes` bounds the memory of the programs that chips share, over all workloads. `more_later`: searches are
  // added after others were made, and may share programs with them.
  SweepSearches(const std::vector<SweepWorkload>& workloads, std::size_t pool_bytes, bool more_later);

  // The number of the search for the best `keep` programs for that chip under those restrictions; `chip` outlives this.
  std::size_t add(const arch::ArchSpec& chip, const construct::Restrictions& restrictions,
                  std::size_t keep = kSearched);
  const arch::ArchSpec& chip_of(std::size_t search) const { return *searches_[search].chip; }
  // A number that searches which share programs have in common, in the order in which they were added.
  std::size_t pool_of(std::size_t search) const { return searches_[search].pool; }

  // One row more is going to ask for it.
  void expect(std::size_t search, std::size_t workload);
  // What the search finds, on any thread: constructed for the first row that asks, and forgotten after the last one
  // that was expected. What is found does not depend on which row asks first.
  std::shared_ptr<const api::Ranked> of(std::size_t search, std::size_t workload);

  // How often programs that chips share had to be made again, because they had gone for want of room.
  std::uint64_t recomputed() const { return recomputed_; }
  // CPU time of all constructions.
  double construct_cpu_seconds() const { return 1e-3 * construct_cpu_ms_; }

 private:
  struct Requested {
    const arch::ArchSpec* chip = nullptr;
    construct::Restrictions restrictions;
    std::size_t keep = kSearched;
    std::size_t pool = 0;      // by number: of one geometry under the same restrictions
    std::size_t geometry = 0;  // the number of its first pool
  };
  struct Shared {
    arch::ArchSpec neutral;
    construct::Restrictions restrictions;
  };
  struct Found {
    std::mutex one_at_a_time;
    std::shared_ptr<const api::Ranked> programs;
    std::size_t expected = 0;
  };

  // The programs of a workload that chips share, for one thread at a time: work goes chip by chip, so that threads
  // rarely want the same one.
  struct Pools {
    explicit Pools(std::size_t max_bytes) : pools(max_bytes) {}
    std::mutex one_at_a_time;
    construct::CandidatePools pools;
    std::set<std::size_t> asked;                // by number
    std::map<std::size_t, std::size_t> to_ask;  // searches, by geometry
  };

  const std::vector<SweepWorkload>& workloads_;
  const bool more_later_;
  std::vector<std::unique_ptr<Pools>> pools_;  // by workload
  std::vector<Requested> searches_;
  std::vector<Shared> shared_;  // what searches of one pool have in common
  std::atomic<std::uint64_t> recomputed_ = 0;
  std::atomic<double> construct_cpu_ms_ = 0;
  std::mutex lock_;
  std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<Found>> found_;  // by search and workload
};

}  // namespace tilescope::experiments
