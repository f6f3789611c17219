// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/spills.h"

#include <algorithm>

#include "base/check.h"
#include "base/integer.h"
#include "lower/affine.h"
#include "lower/counters.h"
#include "lower/statement_parts.h"
#include "sim/gpu/detail/lifetimes.h"
#include "sim/gpu/detail/product_loops.h"
#include "sim/gpu/detail/registers.h"

namespace tilescope::sim {
namespace {

using lower::Kernel;
using lower::Space;
using lower::Statement;

using arch::kRegisterBytes;

struct Peak {
  std::int64_t barrier = -1, registers = 0;
};

// Of the arrays that are common, or of the others.
Peak peak_of(const Kernel& k, const Lifetimes& lives, const std::vector<bool>& is_common, bool common) {
  Peak peak;
  for (std::int64_t n = 0; n < lives.barriers(); ++n) {
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < k.buffers.size(); ++b)
      if (is_common[b] == common && lives.held(b, n)) sum += registers_of(k.buffers[b]);
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
      if (!is_barrier(body[i]) || left_-- > 0) continue;
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

HeldRegisters registers_held(const Kernel& k, const Machine& m) {
  const Lifetimes lives(k);
  const std::vector<bool> is_common = in_common_registers(k, m);
  return {peak_of(k, lives, is_common, true).registers, peak_of(k, lives, is_common, false).registers};
}

std::int64_t registers_of_warp_group_sums(const Kernel& k) {
  std::int64_t most = 0;
  lower::for_each_statement(k.body, [&](const Statement& s) {
    if (const auto* m = std::get_if<lower::Wgmma>(&s.what))
      most = std::max(most, registers_of(k.buffers[static_cast<std::size_t>(m->d.buffer)]));
  });
  return most;
}

namespace {

// A kernel's local memory: a place for each thread of the blocks that are resident at a time.
class LocalMemory {
 public:
  LocalMemory(Spilled& out, std::int64_t end, const Occupancy& occupancy, const Machine& m)
      : out_(out),
        own_(out.kernel),
        end_(end),
        warps_(occupancy.warps),
        warp_(m.limits.warp),
        line_(m.memory.shape.line),
        resident_(std::min(own_.blocks, occupancy.blocks_per_core * m.cores)),
        place_(add_index(own_, {"local", lower::IndexKind::kDerived, {0, resident_ - 1}, {{{0, 1}}, 0}, 1, resident_})),
        of_warp_(
            add_index(own_, {"local_warp", lower::IndexKind::kDerived, {0, warps_ - 1}, {{{1, 1}}, 0}, warp_, 0})) {}

  // Room for so many words of a thread, of `each` elements of the array's; the access to a thread's first word.
  // Neighbouring lanes' words lie side by side, and a thread's next one `stride(each)` elements further.
  lower::Access add(const lower::Buffer& array, std::int64_t words, std::int64_t each) {
    const std::int64_t of_block = warps_ * warp_ * words * each;
    own_.buffers.push_back({array.name + "_local", Space::kGlobal, array.dtype, of_block * resident_,
                            static_cast<int>(out_.bases.size()), 0});
    out_.bases.push_back(end_);
    end_ = base::round_up(end_ + of_block * resident_ * base::size_of(array.dtype).n, line_);
    return {static_cast<int>(own_.buffers.size() - 1),
            {{{lower::kThreadIndex, each}, {place_, of_block}, {of_warp_, (words - 1) * warp_ * each}}, 0}};
  }
  std::int64_t stride(std::int64_t each) const { return warp_ * each; }

 private:
  Spilled& out_;
  Kernel& own_;
  std::int64_t end_, warps_, warp_, line_, resident_;
  int place_, of_warp_;
};

// Statements that move words of an array to local memory and back.
struct Moves {
  Statement spill, fill;
};

// A loop over words: from `here`, `each` elements apart, to `there`, `stride` elements apart, and likewise back.
Moves moves_of(Kernel& k, const std::string& name, lower::Access here, lower::Access there, std::int64_t words,
               std::int64_t each, std::int64_t whole, std::int64_t stride) {
  const int i = add_index(k, {name + "_spilled", lower::IndexKind::kLoop, {0, words - 1}, {}, 1, 0});
  here.offset.terms.push_back({i, each});  // the last index of all
  there.offset.terms.push_back({i, stride});
  const auto loop = [&](const lower::Access& to, const lower::Access& from, const char* note) {
    return Statement{lower::Loop{i, words, {{lower::Copy{to, from, whole, {}, {}, false}, {}}}}, note};
  };
  return {loop(there, here, "spill"), loop(here, there, "fill")};
}

// Fills a product's sums before it and spills them behind it, when it has ended.
class GroupProducts {
 public:
  GroupProducts(Kernel& k, LocalMemory& memory) : kernel_(k), memory_(memory), local_(k.buffers.size()) {}

  void wrap(std::vector<Statement>& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      lower::for_inner_bodies(body[i], [&](std::vector<Statement>& inner) { wrap(inner); });
      const auto* product = std::get_if<lower::Wgmma>(&body[i].what);
      if (product == nullptr) continue;
      Moves moves = moves_of(*product);
      const lower::WgmmaCommitWait wait{product->d.buffer};
      const auto at = body.begin() + static_cast<std::ptrdiff_t>(i);
      body.insert(at + 1, {Statement{wait, {}}, std::move(moves.spill)});
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), std::move(moves.fill));
      i += 3;
    }
  }

 private:
  Moves moves_of(const lower::Wgmma& product) {
    const auto array = static_cast<std::size_t>(product.d.buffer);
    const lower::Buffer sums = kernel_.buffers[array];
    base::check(base::size_of(sums.dtype).n == kRegisterBytes, "a sum of a warp group's product has a register");
    if (!local_[array]) local_[array] = memory_.add(sums, sums.elements, 1);
    const std::int64_t stride = memory_.stride(1);
    lower::Access there = *local_[array];
    there.offset = there.offset + product.d.offset * stride;
    const lower::MatrixInstruction& unit = lower::instruction_of(kernel_, product);
    return sim::moves_of(kernel_, sums.name, product.d, there, unit.shape.m * product.columns / unit.lanes, 1, 1,
                         stride);
  }

  Kernel& kernel_;
  LocalMemory& memory_;
  std::vector<std::optional<lower::Access>> local_;  // by array
};

}  // namespace

Spilled with_spills(const Kernel& k, const std::vector<std::int64_t>& bases, std::int64_t end,
                    const Occupancy& occupancy, const Machine& m) {
  Spilled out{k, bases, {}};
  Kernel& own = out.kernel;
  const Lifetimes lives(k);
  const std::vector<bool> is_common = in_common_registers(k, m), sums = sums_of(k);
  LocalMemory memory(out, end, occupancy, m);
  if (occupancy.moves_warp_group_sums) GroupProducts(own, memory).wrap(own.body);

  // Puts what an array cannot keep, of so many registers that are left to spill, around the barrier.
  std::vector<Statement> before, behind;
  const auto spill = [&](std::size_t b, std::int64_t left) {
    const lower::Buffer& spills = k.buffers[b];
    const std::int64_t size = base::size_of(spills.dtype).n, each = std::max<std::int64_t>(1, kRegisterBytes / size);
    const std::int64_t elements = std::min(spills.elements, base::ceil_div(left * kRegisterBytes, size));
    const std::int64_t words = base::ceil_div(elements, each);
    Moves moves = moves_of(own, spills.name, {static_cast<int>(b), {}}, memory.add(spills, words, each), words, each,
                           std::min(each, spills.elements), memory.stride(each));
    before.push_back(std::move(moves.spill));
    behind.push_back(std::move(moves.fill));
  };
  if (occupancy.spilled_in_products > 0)
    for_each_product_loop(own, [&](const ProductLoop& loop, std::vector<Statement>& body) {
      std::int64_t left = occupancy.spilled_in_products;
      for (std::size_t b = 0; b < loop.sums.size() && left > 0; ++b) {
        if (!loop.sums[b]) continue;
        spill(b, left);
        left -= registers_of(k.buffers[b]);
      }
      body.insert(body.begin(), behind.begin(), behind.end());
      body.insert(body.end(), before.begin(), before.end());
      before.clear();
      behind.clear();
    });
  for (const auto& [common, spilled] :
       {std::pair(true, occupancy.spilled_per_thread), std::pair(false, occupancy.spilled_sums_per_thread)}) {
    const Peak peak = peak_of(k, lives, is_common, common);
    std::int64_t left = spilled;
    for (const bool of_sums : {false, true})
      for (std::size_t b = 0; b < k.buffers.size() && left > 0; ++b) {
        if (sums[b] != of_sums || is_common[b] != common || !lives.held(b, peak.barrier)) continue;
        spill(b, left);
        left -= registers_of(k.buffers[b]);
      }
    BarrierWrapper(peak.barrier, std::move(before), std::move(behind)).wrap(own.body);
    before.clear();
    behind.clear();
  }

  const std::size_t arrays = k.buffers.size();
  for (const lower::Copy* c : lower::copies_of(own))
    out.of_kernel.push_back(static_cast<std::size_t>(c->to.buffer) < arrays &&
                            static_cast<std::size_t>(c->from.buffer) < arrays);
  return out;
}

}  // namespace tilescope::sim
