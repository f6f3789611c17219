// SPDX-License-Identifier: Apache-2.0
#include "lower/interpret.h"

#include <algorithm>
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

// The control flow of one kernel's blocks.
class KernelRun {
 public:
  KernelRun(const Module& m, const Kernel& k, const std::vector<double>& scalars, std::vector<Array>& globals)
      : m_(m), k_(k), scalars_(scalars), all_(k, 0, k.threads), memory_(k, globals), mbarriers_(k, memory_) {}

  void run() {
    for (block_ = 0; block_ < k_.blocks; ++block_) {
      try {
        run_block();
      } catch (const Mistake& mistake) {
        throw KernelError(fmt::format("kernel {}, block {}, thread {}, at `{}`: {}", k_.name, block_,
                                      std::max<std::int64_t>(mistake.thread, 0), print(m_, k_, *statement_),
                                      mistake.what()));
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

  void run_block() {
    all_.set_block(block_);
    memory_.begin_block();
    mbarriers_.begin(1);
    walks_.clear();
    walks_.push_back({{.end = k_.threads, .lanes = all_, .seen = {0}}, {{&k_.body}}});
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t w = 0; w < walks_.size(); ++w)
        while (advance(walks_[w])) progress = true;
    }
    for (const Walk& w : walks_)
      if (!w.places.empty()) throw Mistake("roles that wait for each other", w.crew.first);
    memory_.end_block();
    mbarriers_.end();
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
    if (const auto* a = std::get_if<MbarrierWait>(&statement_->what); a != nullptr && !mbarriers_.is_over(*a, w.crew))
      return false;
    ++at.next;
    Crew& crew = w.crew;
    std::visit(
        Visitor{[&](const OneOf<Loop, If, WarpSpecialized> auto& s) { enter(s, w); },
                [&](const OneOf<Barrier, ClusterBarrier> auto& /*b*/) { memory_.synchronize(crew); },
                [&](const ProxyFence& /*f*/) { memory_.publish(); }, [&](const Commit& /*c*/) { memory_.commit(crew); },
                [&](const Wait& s) { memory_.wait(s.pending, crew); },
                [&](const MbarrierArrive& s) { mbarriers_.arrive(s, crew); },
                [&](const MbarrierWait& s) { mbarriers_.wait(s, crew); },
                [&](const TmaLoad& s) { lower::run(s, memory_, mbarriers_, crew); },
                [&](const Compute& s) { lower::run(s, scalars_, memory_, crew); },
                [&](const OneOf<WgmmaFence, WgmmaCommitWait> auto& s) { lower::run(s, crew); },
                [&](const OneOf<Copy, TmaStore, ReduceLanes, LoadMatrix, Mma, Wgmma> auto& s) {
                  lower::run(s, memory_, crew);
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
      roles.push_back({{.number = roles.size(),
                        .of_role = true,
                        .first = r.first_thread,
                        .end = end,
                        .lanes = w.crew.lanes,
                        .seen = Clock(s.roles.size(), 0)},
                       {{&r.body}}});
    }
    if (end > k_.threads) throw Mistake("a role of more threads than there are", end);
    mbarriers_.begin(roles.size());
    walks_ = std::move(roles);
  }

  const Module& m_;
  const Kernel& k_;
  const std::vector<double>& scalars_;
  Lanes all_;  // of a block, before its threads go anywhere
  BlockMemory memory_;
  Mbarriers mbarriers_;
  std::vector<Walk> walks_;  // of the block: one, or of its roles
  std::int64_t block_ = 0;
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
