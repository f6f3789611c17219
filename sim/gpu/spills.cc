// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/spills.h"

#include <algorithm>

#include "base/integer.h"
#include "lower/counters.h"
#include "lower/statement_parts.h"

namespace tilescope::sim {
namespace {

using lower::Kernel;
using lower::Space;
using lower::Statement;

using arch::kRegisterBytes;

// When register arrays are in use, by the order in which statements stand.
class Lifetimes {
 public:
  explicit Lifetimes(const Kernel& k) : kernel_(k), of_(k.buffers.size()) { walk(k.body); }

  std::int64_t barriers() const { return static_cast<std::int64_t>(barriers_.size()); }
  // Whether the array's values are held across that barrier.
  bool held(std::size_t buffer, std::int64_t barrier) const {
    const Life& life = of_[buffer];
    const std::int64_t at = barriers_[static_cast<std::size_t>(barrier)];
    return kernel_.buffers[buffer].space == Space::kRegister && life.first >= 0 && life.first < at && at < life.last;
  }

 private:
  struct Life {
    std::int64_t first = -1, last = -1;
    bool read_first = false;
  };

  void touch(const lower::Access& a, bool reads) {
    Life& life = of_[static_cast<std::size_t>(a.buffer)];
    if (life.first < 0) {
      life.first = now_;
      life.read_first = reads;
    }
    life.last = now_;
  }

  void walk(const std::vector<Statement>& body) {
    for (const Statement& s : body) {
      ++now_;
      if (const auto* l = std::get_if<lower::Loop>(&s.what)) {
        walk_loop(l->body);
        continue;
      }
      lower::for_inner_bodies(s, [&](const std::vector<Statement>& inner) { walk(inner); });
      visit(s);
    }
  }

  // What was there before a loop, or is read before it is written in one, is held through all of it.
  void walk_loop(const std::vector<Statement>& body) {
    const std::int64_t begin = now_;
    walk(body);
    const std::int64_t end = ++now_;
    for (Life& life : of_) {
      if (life.last <= begin) continue;
      const bool carried = life.first > begin && life.read_first;
      if (carried) life.first = begin;
      if (carried || life.first <= begin) life.last = end;
    }
  }

  void visit(const Statement& s) {
    if (std::holds_alternative<lower::Barrier>(s.what)) barriers_.push_back(now_);
    lower::for_each_access(
        s, [&](const lower::Access& a, lower::AccessKind kind) { touch(a, kind != lower::AccessKind::kWrite); });
  }

  const Kernel& kernel_;
  std::vector<Life> of_;
  std::vector<std::int64_t> barriers_;
  std::int64_t now_ = 0;
};

struct Peak {
  std::int64_t barrier = -1, registers = 0;
};

Peak peak_of(const Kernel& k, const Lifetimes& lives) {
  Peak peak;
  for (std::int64_t n = 0; n < lives.barriers(); ++n) {
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < k.buffers.size(); ++b)
      if (lives.held(b, n)) sum += registers_of(k.buffers[b]);
    if (sum > peak.registers) peak = {n, sum};
  }
  return peak;
}

// The arrays whose sums stay in registers as long as anything else can go: what is added to in every iteration.
std::vector<bool> sums_of(const Kernel& k) {
  std::vector<bool> out(k.buffers.size(), false);
  lower::for_each_statement(k.body, [&](const Statement& s) {
    lower::for_each_access(s, [&](const lower::Access& a, lower::AccessKind kind) {
      if (kind == lower::AccessKind::kAccumulate) out[static_cast<std::size_t>(a.buffer)] = true;
    });
  });
  return out;
}

// Puts statements before and behind the barrier of that number.
class BarrierWrapper {
 public:
  BarrierWrapper(std::int64_t barrier, std::vector<Statement> before, std::vector<Statement> behind)
      : left_(barrier), before_(std::move(before)), behind_(std::move(behind)) {}

  void wrap(std::vector<Statement>& body) {
    for (std::size_t i = 0; i < body.size() && left_ >= 0; ++i) {
      lower::for_inner_bodies(body[i], [&](std::vector<Statement>& inner) { wrap(inner); });
      if (!std::holds_alternative<lower::Barrier>(body[i].what) || left_-- > 0) continue;
      const auto at = body.begin() + static_cast<std::ptrdiff_t>(i);
      body.insert(at + 1, behind_.begin(), behind_.end());
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), before_.begin(), before_.end());
      return;
    }
  }

 private:
  std::int64_t left_;
  std::vector<Statement> before_, behind_;
};

int add_index(Kernel& k, lower::Index index) {
  k.indices.push_back(std::move(index));
  return static_cast<int>(k.indices.size() - 1);
}

}  // namespace

std::int64_t registers_of(const lower::Buffer& b) {
  return base::ceil_div(b.elements * base::size_of(b.dtype).n, kRegisterBytes);
}

std::int64_t registers_held(const Kernel& k) { return peak_of(k, Lifetimes(k)).registers; }

Spilled with_spills(const Kernel& k, const std::vector<std::int64_t>& bases, std::int64_t end,
                    const Occupancy& occupancy, const Machine& m) {
  Spilled out{k, bases, {}};
  Kernel& own = out.kernel;
  const Lifetimes lives(k);
  const Peak peak = peak_of(k, lives);
  const std::int64_t warp = m.limits.warp, resident = std::min(k.blocks, occupancy.blocks_per_core * m.cores);
  const int place =
      add_index(own, {"local", lower::IndexKind::kDerived, {0, resident - 1}, {{{0, 1}}, 0}, 1, resident});
  const int of_warp =
      add_index(own, {"local_warp", lower::IndexKind::kDerived, {0, occupancy.warps - 1}, {{{1, 1}}, 0}, warp, 0});

  std::vector<Statement> before, behind;
  std::int64_t left = occupancy.spilled_per_thread;
  const std::vector<bool> sums = sums_of(k);
  for (const bool of_sums : {false, true})
    for (std::size_t b = 0; b < k.buffers.size() && left > 0; ++b) {
      if (sums[b] != of_sums || !lives.held(b, peak.barrier)) continue;
      const lower::Buffer& spills = k.buffers[b];
      const std::int64_t size = base::size_of(spills.dtype).n, each = std::max<std::int64_t>(1, kRegisterBytes / size);
      const std::int64_t elements = std::min(spills.elements, base::ceil_div(left * kRegisterBytes, size));
      const std::int64_t accesses = base::ceil_div(elements, each);
      left -= registers_of(spills);
      // Neighbouring lanes' registers lie side by side.
      const std::int64_t of_block = occupancy.warps * warp * accesses * each;
      own.buffers.push_back({spills.name + "_local", Space::kGlobal, spills.dtype, of_block * resident,
                             static_cast<int>(out.bases.size()), 0});
      out.bases.push_back(end);
      end = base::round_up(end + of_block * resident * size, m.memory.shape.line);
      const int local = static_cast<int>(own.buffers.size() - 1);
      const int i = add_index(own, {spills.name + "_spilled", lower::IndexKind::kLoop, {0, accesses - 1}, {}, 1, 0});
      const lower::Access there{
          local,
          {{{lower::kThreadIndex, each}, {place, of_block}, {of_warp, (accesses - 1) * warp * each}, {i, warp * each}},
           0}};
      const lower::Access here{static_cast<int>(b), {{{i, each}}, 0}};
      const std::int64_t whole = std::min(each, spills.elements);
      before.push_back({lower::Loop{i, accesses, {{lower::Copy{there, here, whole, {}, {}, false}, {}}}}, "spill"});
      behind.push_back({lower::Loop{i, accesses, {{lower::Copy{here, there, whole, {}, {}, false}, {}}}}, "fill"});
    }
  BarrierWrapper(peak.barrier, std::move(before), std::move(behind)).wrap(own.body);

  const std::size_t arrays = k.buffers.size();
  for (const lower::Copy* c : lower::copies_of(own))
    out.of_kernel.push_back(static_cast<std::size_t>(c->to.buffer) < arrays &&
                            static_cast<std::size_t>(c->from.buffer) < arrays);
  return out;
}

}  // namespace tilescope::sim
