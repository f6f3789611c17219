// SPDX-License-Identifier: Apache-2.0
#include "lower/interpret.h"

#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "lower/detail/interpret_statements.h"
#include "lower/print.h"
#include "lower/statement_parts.h"

namespace tilescope::lower {
namespace {

// The control flow of one kernel's blocks, cluster by cluster.
class KernelRun {
 public:
  KernelRun(const Module& m, const Kernel& k, const std::vector<double>& scalars, std::vector<Array>& globals)
      : m_(m), k_(k), scalars_(scalars) {
    for (std::int64_t b = 0; b < k.cluster; ++b) blocks_.emplace_back(k, globals);
    for (Block& b : blocks_) {
      b.rank = cluster_.size();
      cluster_.push_back({&b.memory, &b.mbarriers});
    }
  }

  void run() {
    for (std::int64_t first = 0; first < k_.blocks; first += k_.cluster) {
      try {
        run_cluster(first);
      } catch (const Mistake& mistake) {
        throw KernelError(fmt::format(
            "kernel {}, block {}, thread {}, at `{}`: {}", k_.name, first + static_cast<std::int64_t>(block_->rank),
            std::max<std::int64_t>(mistake.thread, 0), print(m_, k_, *statement_), mistake.what()));
      }
    }
  }

 private:
  struct Place {
    const std::vector<Statement>* body = nullptr;
    std::size_t next = 0;
    const Loop* loop = nullptr;
    std::int64_t value = 0, last = 0;  // of the loop
  };
  // A crew on its way through the kernel.
  struct Walk {
    Crew crew;
    std::vector<Place> places;  // the innermost last
  };
  struct Block {
    Block(const Kernel& k, std::vector<Array>& globals)
        : all(k, 0, k.threads), memory(k, globals), mbarriers(k, memory) {}
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    Lanes all;  // before its threads go anywhere
    BlockMemory memory;
    Mbarriers mbarriers;
    std::vector<Walk> walks;  // one, or of its roles
    std::size_t rank = 0;     // in its cluster
    std::int64_t met = 0;     // cluster barriers that it has come to
    bool at_cluster_barrier = false;
  };

  void run_cluster(std::int64_t first) {
    block_ = &blocks_.front();
    for (Block& b : blocks_) {
      b.all.set_block(first++);
      b.memory.begin_block();
      b.mbarriers.begin(blocks_.size() * roles());
      b.met = 0;
      b.at_cluster_barrier = false;
      b.walks.clear();
      b.walks.push_back({{.end = k_.threads, .lanes = b.all, .seen = {0}}, {{&k_.body}}});
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (Block& b : blocks_) {
        block_ = &b;
        for (std::size_t w = 0; w < b.walks.size(); ++w)
          while (advance(b.walks[w])) progress = true;
      }
    }
    for (Block& b : blocks_) {
      block_ = &b;
      for (const Walk& w : b.walks)
        if (!w.places.empty())
          throw Mistake(w.crew.of_role ? "roles that wait for each other" : "a barrier that no other block comes to",
                        w.crew.first);
      b.memory.end_block();
      b.mbarriers.end();
    }
  }

  // Roles of a block's warps, which stand last in its body; 1 where there are none.
  std::size_t roles() const {
    const auto* s = k_.body.empty() ? nullptr : std::get_if<WarpSpecialized>(&k_.body.back().what);
    return s == nullptr ? 1 : std::max<std::size_t>(1, s->roles.size());
  }

  // Whether all blocks of the cluster have come to the barrier that the block in hand has come to.
  bool all_meet() {
    if (!std::exchange(block_->at_cluster_barrier, true)) ++block_->met;
    if (!std::ranges::all_of(blocks_, [&](const Block& b) { return b.met >= block_->met; })) return false;
    block_->at_cluster_barrier = false;
    return true;
  }

  // The scratchpads and mbarriers that a statement is about: those of all blocks of the cluster, or the block's own.
  std::span<const BlockParts> parts(bool of_cluster) const {
    const std::span<const BlockParts> all = cluster_;
    return of_cluster ? all : all.subspan(block_->rank, 1);
  }

  // The next statement; false where the crew is through, or waits for others.
  bool advance(Walk& w) {
    if (w.places.empty()) return false;
    Place& at = w.places.back();
    if (at.next == at.body->size()) {
      if (at.loop == nullptr || at.value == at.last) {
        w.places.pop_back();
        return true;
      }
      w.crew.lanes.set_loop(at.loop->index, ++at.value);
      at.next = 0;
      return true;
    }
    statement_ = &(*at.body)[at.next];
    Block& block = *block_;
    if (const auto* a = std::get_if<MbarrierWait>(&statement_->what);
        a != nullptr && !block.mbarriers.is_over(*a, w.crew))
      return false;
    if (std::holds_alternative<ClusterBarrier>(statement_->what) && !all_meet()) return false;
    ++at.next;
    Crew& crew = w.crew;
    BlockMemory& memory = block.memory;
    std::visit(
        Visitor{[&](const OneOf<Loop, If, WarpSpecialized> auto& s) { enter(s, w); },
                [&](const OneOf<Barrier, ClusterBarrier> auto& /*b*/) { memory.synchronize(crew); },
                [&](const ProxyFence& /*f*/) { memory.publish(crew); },
                [&](const Commit& /*c*/) { memory.commit(crew); }, [&](const Wait& s) { memory.wait(s.pending, crew); },
                [&](const MbarrierArrive& s) {
                  for (const BlockParts& to : parts(s.cluster)) to.mbarriers->arrive(s, crew);
                },
                [&](const Tcgen05Commit& s) {
                  for (const BlockParts& to : parts(s.cluster)) to.mbarriers->arrive(s, crew);
                },
                [&](const MbarrierWait& s) { block.mbarriers.wait(s, crew); },
                [&](const TmaLoad& s) { lower::run(s, memory, parts(s.multicast), crew); },
                [&](const Compute& s) { lower::run(s, scalars_, memory, crew); },
                [&](const OneOf<WgmmaFence, WgmmaCommitWait> auto& s) { lower::run(s, crew); },
                [&](const OneOf<Copy, TmaStore, ReduceLanes, LoadMatrix, Mma, Wgmma, Tcgen05Mma, Tcgen05Load> auto& s) {
                  lower::run(s, memory, crew);
                }},
        statement_->what);
    return true;
  }

  static void enter(const Loop& l, Walk& w) {
    Crew& crew = w.crew;
    const expr::Span range = crew.lanes.range_of(l, crew.first);
    for (std::int64_t t = crew.first; l.has_ends() && t < crew.end; ++t)
      if (crew.lanes.range_of(l, t) != range) throw Mistake("threads of one block that part ways", t);
    if (range.low > range.high) return;
    crew.lanes.set_loop(l.index, range.low);
    w.places.push_back({&l.body, 0, &l, range.low, range.high});
  }
  static void enter(const If& branch, Walk& w) {
    const Crew& crew = w.crew;
    const bool taken = crew.lanes.holds(branch.when, crew.first);
    for (std::int64_t t = crew.first; t < crew.end; ++t)
      if (crew.lanes.holds(branch.when, t) != taken) throw Mistake("threads of one block that part ways", t);
    if (taken) w.places.push_back({&branch.body});
  }
  void enter(const WarpSpecialized& s, const Walk& w) {
    if (w.crew.of_role || w.places.size() > 1 || w.places.back().next < w.places.back().body->size())
      throw Mistake("roles that are not the end of a kernel", 0);
    std::vector<Walk> roles;
    std::int64_t end = 0;
    for (const WarpRole& r : s.roles) {
      if (r.first_thread < end || r.first_thread % k_.warp != 0 || r.threads % k_.warp != 0)
        throw Mistake(fmt::format("role {} is not of warps of its own", r.name), r.first_thread);
      end = r.first_thread + r.threads;
      roles.push_back({{.number = block_->rank * s.roles.size() + roles.size(),
                        .of_role = true,
                        .first = r.first_thread,
                        .end = end,
                        .lanes = w.crew.lanes,
                        .seen = Clock(blocks_.size() * s.roles.size(), 0)},
                       {{&r.body}}});
    }
    if (end > k_.threads) throw Mistake("a role of more threads than there are", end);
    block_->walks = std::move(roles);
  }

  const Module& m_;
  const Kernel& k_;
  const std::vector<double>& scalars_;
  std::deque<Block> blocks_;         // of a cluster
  std::vector<BlockParts> cluster_;  // of each
  Block* block_ = nullptr;           // in hand
  const Statement* statement_ = nullptr;
};

}  // namespace

void interpret(const Module& m, const std::vector<double>& scalars, std::vector<expr::Values>& globals) {
  base::check(scalars.size() == m.scalars.size(), "every scalar has a value");
  base::check(globals.size() == m.globals.size(), "every global has its values");
  std::vector<Array> memory(m.globals.size());
  for (std::size_t g = 0; g < m.globals.size(); ++g) {
    const auto n = static_cast<std::size_t>(m.globals[g].elements);
    const bool given = m.globals[g].role == Role::kInput;
    if (given) base::check(globals[g].size() == n, "an input has all its elements");
    memory[g].value = given ? globals[g] : expr::Values(n, 0.0);
    memory[g].written.assign(n, given ? 1 : 0);
  }
  for (const Kernel& k : m.kernels) KernelRun(m, k, scalars, memory).run();
  for (std::size_t g = 0; g < m.globals.size(); ++g) {
    if (m.globals[g].role == Role::kOutput) {
      const auto missing = std::find(memory[g].written.begin(), memory[g].written.end(), 0);
      if (missing != memory[g].written.end())
        throw KernelError(
            fmt::format("{}[{}] is written by no kernel", m.globals[g].name, missing - memory[g].written.begin()));
    }
    globals[g] = std::move(memory[g].value);
  }
}

}  // namespace tilescope::lower
