// SPDX-License-Identifier: Apache-2.0
// What follows from the order of statements: arrays that share bytes are not in use together; every wait ends.

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/integer.h"
#include "lower/detail/block_memory.h"
#include "lower/detail/kernel_check.h"

namespace tilescope::lower {
namespace {

// What a statement and those inside it do to arrays of the scratchpad, in order.
struct Touch {
  const Statement* statement = nullptr;
  int buffer = 0;
  bool writes = false;
};

void add_touches(const Kernel& k, const Statement& s, std::vector<Touch>& out) {
  for_each_access(s, [&](const Access& a, AccessKind kind) {
    if (k.buffers[static_cast<std::size_t>(a.buffer)].space == Space::kShared)
      out.push_back({&s, a.buffer, kind != AccessKind::kRead});
  });
  for_inner_bodies(s, [&](const std::vector<Statement>& body) {
    for (const Statement& inner : body) add_touches(k, inner, out);
  });
}

}  // namespace

void check_overlaps(const CheckedKernel& of) {
  const Kernel& k = of.k;
  const std::vector<std::vector<std::size_t>> others = overlaps_of(k);
  if (std::all_of(others.begin(), others.end(), [](const auto& o) { return o.empty(); })) return;
  std::map<const Statement*, std::string> paths;
  of.for_all([&](const Statement& s, const Inside& at) { paths[&s] = at.path; });
  std::set<std::pair<int, int>> told;
  const auto overlap = [&](const Touch& reads, int written) {
    if (!told.emplace(reads.buffer, written).second) return;
    of.wrong(paths.at(reads.statement),
             "reads {} where {}, which has bytes of the scratchpad in common with it, was written",
             k.buffers[static_cast<std::size_t>(reads.buffer)].name, k.buffers[static_cast<std::size_t>(written)].name);
  };
  // In order, loops twice where they are outermost.
  std::vector<Touch> all;
  for (const Statement& s : k.body) {
    const std::size_t begin = all.size();
    add_touches(k, s, all);
    const auto end = static_cast<std::ptrdiff_t>(all.size());
    if (std::holds_alternative<Loop>(s.what))
      for (auto t = static_cast<std::ptrdiff_t>(begin); t < end; ++t) all.push_back(all[static_cast<std::size_t>(t)]);
  }
  std::vector<int> overwritten(k.buffers.size(), -1);
  for (const Touch& t : all) {
    const auto b = static_cast<std::size_t>(t.buffer);
    if (!t.writes) {
      if (overwritten[b] >= 0) overlap(t, overwritten[b]);
      continue;
    }
    overwritten[b] = -1;
    for (const std::size_t o : others[b]) overwritten[o] = t.buffer;
  }
  // An array that a loop reads and does not write is overwritten for its next iteration by whatever it writes there.
  of.for_all([&](const Statement& s, const Inside& /*at*/) {
    const auto* loop = std::get_if<Loop>(&s.what);
    if (loop == nullptr) return;
    std::vector<Touch> touches;
    for (const Statement& inner : loop->body) add_touches(k, inner, touches);
    std::set<int> written;
    for (const Touch& t : touches)
      if (t.writes) written.insert(t.buffer);
    for (const Touch& t : touches)
      for (const std::size_t o : others[static_cast<std::size_t>(t.buffer)])
        if (!t.writes && !written.contains(t.buffer) && written.contains(static_cast<int>(o)))
          overlap(t, static_cast<int>(o));
  });
}

namespace {

constexpr std::int64_t kMaxSteps = 1 << 21;  // of all roles of a block; who runs the kernel sees what comes later

// A mistake and the statement at which it shows.
struct Stopped {
  const Statement* at = nullptr;
  std::string why;
};

// Statements that no thread waits at and that no wait is for; a Barrier ends where all threads go one way.
template <class S>
concept MattersNot = OneOf<S, Compute, ReduceLanes, LoadMatrix, Mma, Wgmma, WgmmaFence, WgmmaCommitWait, ProxyFence,
                           Barrier, ClusterBarrier, TmaStore, Tcgen05Mma, Tcgen05Load>;

// The statements of the blocks of a cluster that wait or are waited for, without what they move.
class Progress {
 public:
  // `first`: block of the cluster.
  Progress(const Kernel& k, std::int64_t first) : k_(k), first_(first), blocks_(static_cast<std::size_t>(k.cluster)) {
    find(k.body);
    for (std::size_t i = needed_.size(); i-- > 0;)
      if (needed_[i]) {
        if (k.indices[i].kind == IndexKind::kDerived) derived_.push_back(i);
        need(k.indices[i].of);
      }
    std::reverse(derived_.begin(), derived_.end());
    for (Block& b : blocks_)
      for (const Mbarrier& m : k.mbarriers) b.mbarriers.emplace_back(static_cast<std::size_t>(m.stages));
  }

  std::optional<Stopped> run() {
    if (synchronizes_.empty()) return std::nullopt;
    for (std::size_t b = 0; b < blocks_.size(); ++b) crews_.push_back(crew(b, k_.body, 0, k_.threads));
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t c = 0; c < crews_.size(); ++c)
        while (advance(c)) {
          progress = true;
          if (stopped_) return stopped_;
          if (++steps_ > kMaxSteps) return std::nullopt;
        }
    }
    for (const Crew& c : crews_)
      if (!c.places.empty()) return waiting(c);
    return left_over();
  }

 private:
  struct Place {
    const std::vector<Statement>* body = nullptr;
    std::size_t next = 0;
    const Loop* loop = nullptr;
    std::int64_t last = 0;  // value of its index
  };
  struct Crew {
    std::size_t block = 0;  // of the cluster
    std::int64_t warps = 0;
    std::vector<std::int64_t> values;  // by index, of its first thread
    std::vector<Place> places;
  };
  // The phase of an mbarrier's stage that is under way.
  struct Phase {
    std::int64_t number = 0, arrived = 0, announced = 0, asked = 0;
    const Statement* load = nullptr;
  };
  struct Block {
    std::vector<std::vector<Phase>> mbarriers;  // by mbarrier and stage
    const Statement* open = nullptr;            // a copy of the group that no commit has ended
    std::deque<const Statement*> groups;        // under way, a copy of each, or null
    bool committed = false;                     // a group, at any time
  };
  Block& block_of(const Crew& c) { return blocks_[c.block]; }
  // Calls visit with the number of every block that a statement is about.
  template <class Visit>
  void for_blocks(const Crew& c, bool all, const Visit& visit) {
    for (std::size_t b = all ? 0 : c.block; b < (all ? blocks_.size() : c.block + 1); ++b) visit(b);
  }

  void need(const Affine& a) {
    for (const AffineTerm& t : a.terms) needed_[static_cast<std::size_t>(t.index)] = true;
  }
  // Whether the body has what matters here, itself or deeper.
  bool find(const std::vector<Statement>& body) {
    bool any = false;
    for (const Statement& s : body) {
      bool matters = std::visit(Visitor{[](const Copy& c) { return c.asynchronous; },
                                        [](const OneOf<Commit, Wait, WarpSpecialized, MbarrierArrive, MbarrierWait,
                                                       TmaLoad, Tcgen05Commit> auto&) { return true; },
                                        [](const OneOf<Loop, If> auto&) { return false; },  // what is in them does
                                        [](const MattersNot auto&) { return false; }},
                                s.what);
      for_inner_bodies(s, [&](const std::vector<Statement>& inner) { matters = find(inner) || matters; });
      if (!matters) continue;
      any = true;
      synchronizes_.insert(&s);
      if (const auto* l = std::get_if<Loop>(&s.what)) needed_[static_cast<std::size_t>(l->index)] = true;
      for_each_guard(s, [&](const Affine& a) { need(a); });
      for_each_place(s, [&](const Affine& a) { need(a); });
    }
    return any;
  }

  Crew crew(std::size_t block, const std::vector<Statement>& body, std::int64_t first, std::int64_t threads) const {
    Crew c{block, base::ceil_div(threads, k_.warp), std::vector<std::int64_t>(k_.indices.size(), 0), {{&body}}};
    for (std::size_t i = 0; i < k_.indices.size(); ++i) c.values[i] = k_.indices[i].range.low;
    c.values[kBlockIndex] = first_ + static_cast<std::int64_t>(block);
    c.values[kThreadIndex] = first;
    derive(c);
    return c;
  }
  void derive(Crew& c) const {
    for (const std::size_t i : derived_) {
      const Index& index = k_.indices[i];
      std::int64_t v = base::floor_div(value(c, index.of), index.divisor);
      if (index.modulus != 0) v = base::floor_mod(v, index.modulus);
      c.values[i] = v;
    }
  }
  static std::int64_t value(const Crew& c, const Affine& a) {
    std::int64_t sum = a.constant;
    for (const AffineTerm& t : a.terms) sum += t.coefficient * c.values[static_cast<std::size_t>(t.index)];
    return sum;
  }
  static bool holds(const Crew& c, const std::vector<Guard>& guards) {
    return std::all_of(guards.begin(), guards.end(), [&](const Guard& g) {
      const std::int64_t v = value(c, g.value);
      return v >= 0 && v < g.bound;
    });
  }

  // The next statement that matters; false where there is none, or it waits.
  bool advance(std::size_t number) {
    Crew& c = crews_[number];
    if (c.places.empty()) return false;
    Place& at = c.places.back();
    while (at.next < at.body->size() && !synchronizes_.contains(&(*at.body)[at.next])) ++at.next;
    if (at.next == at.body->size()) {
      if (at.loop != nullptr) {
        const auto index = static_cast<std::size_t>(at.loop->index);
        if (c.values[index] < at.last) {
          ++c.values[index];
          derive(c);
          at.next = 0;
          return true;
        }
      }
      c.places.pop_back();
      return true;
    }
    const Statement& s = (*at.body)[at.next];
    if (const auto* w = std::get_if<MbarrierWait>(&s.what); w != nullptr && !is_over(c, *w, s))
      return stopped_.has_value();
    ++at.next;
    std::visit([&](const auto& what) { run(c, what, s); }, s.what);
    return true;
  }

  void run(Crew& /*c*/, const MattersNot auto& /*what*/, const Statement& /*s*/) {}
  void run(Crew& /*c*/, const MbarrierWait& /*w*/, const Statement& /*s*/) {}  // it is over
  void run(Crew& c, const Loop& l, const Statement& /*s*/) {
    expr::Span r = k_.indices[static_cast<std::size_t>(l.index)].range;
    if (l.first) r.low = std::max(r.low, value(c, *l.first));
    if (l.last) r.high = std::min(r.high, value(c, *l.last));
    if (r.low > r.high) return;
    c.values[static_cast<std::size_t>(l.index)] = r.low;
    derive(c);
    c.places.push_back({&l.body, 0, &l, r.high});
  }
  void run(Crew& c, const If& i, const Statement& /*s*/) {
    if (holds(c, i.when)) c.places.push_back({&i.body, 0, nullptr});
  }
  // The last statement of the block's crew, which ends.
  void run(Crew& c, const WarpSpecialized& w, const Statement& /*s*/) {
    const std::size_t block = c.block;
    c.places.clear();
    for (const WarpRole& r : w.roles) crews_.push_back(crew(block, r.body, r.first_thread, r.threads));
  }

  void run(Crew& c, const Copy& /*copy*/, const Statement& s) { block_of(c).open = &s; }
  void run(Crew& c, const Commit& /*commit*/, const Statement& /*s*/) {
    block_of(c).groups.push_back(std::exchange(block_of(c).open, nullptr));
    block_of(c).committed = true;
  }
  void run(Crew& c, const Wait& w, const Statement& s) {
    if (!block_of(c).committed) return stop(s, "waits for a group of copies, and none was committed");
    while (std::ssize(block_of(c).groups) > w.pending) block_of(c).groups.pop_front();
  }

  Phase& phase_of(std::size_t block, int mbarrier, std::int64_t phase) {
    std::vector<Phase>& stages = blocks_[block].mbarriers[static_cast<std::size_t>(mbarrier)];
    return stages[static_cast<std::size_t>(base::floor_mod(phase, std::ssize(stages)))];
  }
  std::int64_t number_of(int mbarrier, std::int64_t phase) const {
    return base::floor_div(phase, k_.mbarriers[static_cast<std::size_t>(mbarrier)].stages);
  }
  const std::string& name(int mbarrier) const { return k_.mbarriers[static_cast<std::size_t>(mbarrier)].name; }

  // Changes the phase of a block's mbarrier, which has to be under way.
  template <class Change>
  void change(const Crew& c, std::size_t block, int mbarrier, const Affine& of, const Statement& s,
              const Change& with) {
    const std::int64_t phase = value(c, of);
    Phase& p = phase_of(block, mbarrier, phase);
    if (p.number != number_of(mbarrier, phase))
      return stop(s, fmt::format("is for phase {} of {}, and its stage's turn {} is under way, not {}", phase,
                                 name(mbarrier), p.number, number_of(mbarrier, phase)));
    with(p);
    const std::int64_t arrivals = k_.mbarriers[static_cast<std::size_t>(mbarrier)].arrivals;
    if (p.arrived > arrivals)
      return stop(s, fmt::format("{} warps arrive for phase {} of {}, which waits for {}", p.arrived, phase,
                                 name(mbarrier), arrivals));
    if (p.arrived == arrivals && p.asked == p.announced) p = {p.number + 1, 0, 0, 0, nullptr};
  }
  void run(Crew& c, const MbarrierArrive& a, const Statement& s) {
    for_blocks(c, a.cluster, [&](std::size_t block) {
      change(c, block, a.mbarrier, a.phase, s, [&](Phase& p) {
        p.arrived += c.warps;
        p.announced += a.bytes * c.warps;
      });
    });
  }
  void run(Crew& c, const Tcgen05Commit& a, const Statement& s) {
    for_blocks(c, a.cluster,
               [&](std::size_t block) { change(c, block, a.mbarrier, a.phase, s, [](Phase& p) { ++p.arrived; }); });
  }
  void run(Crew& c, const TmaLoad& b, const Statement& s) {
    const std::int64_t bytes =
        b.elements() * base::size_of(k_.buffers[static_cast<std::size_t>(b.shared.buffer)].dtype).n;
    for_blocks(c, b.multicast, [&](std::size_t block) {
      change(c, block, b.mbarrier, b.phase, s, [&](Phase& p) {
        p.asked += bytes;
        p.load = &s;
      });
    });
  }
  bool is_over(Crew& c, const MbarrierWait& w, const Statement& s) {
    const std::int64_t phase = value(c, w.phase);
    if (phase < 0) return true;
    const std::int64_t passed = phase_of(c.block, w.mbarrier, phase).number - number_of(w.mbarrier, phase);
    if (passed > 1)
      stop(s, fmt::format("waits for phase {} of {} after its stage's next one is over too", phase, name(w.mbarrier)));
    return passed == 1;
  }

  Stopped waiting(const Crew& c) {
    const Statement& s = (*c.places.back().body)[c.places.back().next];
    const auto& w = std::get<MbarrierWait>(s.what);
    const std::int64_t phase = value(c, w.phase);
    const Phase& p = phase_of(c.block, w.mbarrier, phase);
    const std::int64_t arrivals = k_.mbarriers[static_cast<std::size_t>(w.mbarrier)].arrivals;
    return {&s, fmt::format(
                    "waits for phase {} of {}, which never ends: in turn {} of its stage {} of {} warps arrive, and "
                    "{} of {} B come",
                    phase, name(w.mbarrier), p.number, p.arrived, arrivals, p.asked, p.announced)};
  }
  std::optional<Stopped> left_over() const {
    for (const Block& b : blocks_) {
      if (b.open != nullptr)
        return Stopped{b.open, "an asynchronous copy that no group is made of: a commit ends a group"};
      for (const Statement* s : b.groups)
        if (s != nullptr) return Stopped{s, "an asynchronous copy that no wait is for"};
      for (const std::vector<Phase>& stages : b.mbarriers)
        for (const Phase& p : stages)
          if (p.load != nullptr) return Stopped{p.load, "a load for a phase that never ends"};
    }
    return std::nullopt;
  }
  void stop(const Statement& s, std::string why) { stopped_ = Stopped{&s, std::move(why)}; }

  const Kernel& k_;
  std::int64_t first_;
  std::set<const Statement*> synchronizes_;  // those that matter here
  std::vector<bool> needed_ = std::vector<bool>(k_.indices.size(), false);
  std::vector<std::size_t> derived_;  // that they need
  std::deque<Crew> crews_;            // of a block, and of its roles once it has come to them
  std::vector<Block> blocks_;
  std::optional<Stopped> stopped_;
  std::int64_t steps_ = 0;
};

}  // namespace

void check_progress(const CheckedKernel& of) {
  for (const std::int64_t block : {std::int64_t{0}, of.k.blocks - of.k.cluster}) {
    const std::optional<Stopped> stopped = Progress(of.k, block).run();
    if (!stopped) continue;
    of.for_all([&](const Statement& s, const Inside& at) {
      if (&s == stopped->at) of.wrong(at.path, "{} (block {})", stopped->why, block);
    });
    return;
  }
}

}  // namespace tilescope::lower
