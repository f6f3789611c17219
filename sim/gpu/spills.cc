// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/spills.h"

#include <algorithm>

#include "base/integer.h"
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

Spilled with_spills(const Kernel& k, const std::vector<std::int64_t>& bases, std::int64_t end,
                    const Occupancy& occupancy, const Machine& m) {
  Spilled out{k, bases, {}};
  Kernel& own = out.kernel;
  const Lifetimes lives(k);
  const std::vector<bool> is_common = in_common_registers(k, m), sums = sums_of(k);
  const std::int64_t warp = m.limits.warp, resident = std::min(k.blocks, occupancy.blocks_per_core * m.cores);
  const int place =
      add_index(own, {"local", lower::IndexKind::kDerived, {0, resident - 1}, {{{0, 1}}, 0}, 1, resident});
  const int of_warp =
      add_index(own, {"local_warp", lower::IndexKind::kDerived, {0, occupancy.warps - 1}, {{{1, 1}}, 0}, warp, 0});

  // Puts what an array cannot keep, of so many registers that are left to spill, around the barrier.
  std::vector<Statement> before, behind;
  const auto spill = [&](std::size_t b, std::int64_t left) {
    const lower::Buffer& spills = k.buffers[b];
    const std::int64_t size = base::size_of(spills.dtype).n, each = std::max<std::int64_t>(1, kRegisterBytes / size);
    const std::int64_t elements = std::min(spills.elements, base::ceil_div(left * kRegisterBytes, size));
    const std::int64_t accesses = base::ceil_div(elements, each);
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
