// SPDX-License-Identifier: Apache-2.0
// Counters against the kernel walked thread by thread: by hand-written kernels and by random programs.

#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "lower/detail/lanes.h"
#include "tests/unit/sim/kernels.h"
#include "tests/unit/sim/random_module.h"

namespace tilescope::sim {
namespace {

using namespace tests;

// Counts one warp of one block, statement by statement and lane by lane, as lower/counters.h words it.
class Walk {
 public:
  Walk(const lower::Module& m, const lower::Kernel& k, const arch::ArchSpec& chip, lower::KernelCounters& out)
      : kernel_(k), chip_(chip), bases_(lower::base_addresses(m)), out_(out) {}

  void warp(std::int64_t block, std::int64_t first) {
    lower::Lanes lanes(kernel_, first, std::min(chip_.core.warp, kernel_.threads - first));
    lanes.set_block(block);
    next_ = 0;
    body(kernel_.body, lanes);
  }

 private:
  // Statements are numbered where they stand; loops come back to the same numbers.
  void body(const std::vector<Statement>& statements, lower::Lanes& lanes) {
    for (const Statement& s : statements) {
      if (const auto* l = std::get_if<lower::Loop>(&s.what)) {
        const std::size_t begin = next_;
        const expr::Span r = kernel_.indices[static_cast<std::size_t>(l->index)].range;
        for (std::int64_t v = r.low; v <= r.high; ++v) {
          next_ = begin;
          lanes.set_loop(l->index, v);
          body(l->body, lanes);
        }
      } else if (const auto* i = std::get_if<lower::If>(&s.what)) {
        const std::size_t begin = next_;
        if (lanes.holds(i->when, 0)) body(i->body, lanes);
        next_ = begin + copies_in(i->body);
      } else if (const auto* c = std::get_if<Copy>(&s.what)) {
        copy(*c, lanes, out_[next_++]);
      }
    }
  }
  static std::size_t copies_in(const std::vector<Statement>& statements) {
    lower::Kernel k;
    k.body = statements;
    return lower::copies_of(k).size();
  }
  void copy(const Copy& c, const lower::Lanes& lanes, lower::CopyCount& out) {
    for (const Access* a : {&c.to, &c.from}) {
      const lower::Buffer& b = kernel_.buffers[static_cast<std::size_t>(a->buffer)];
      if (b.space == lower::Space::kRegister) continue;
      const bool zeros = b.space == lower::Space::kShared && c.asynchronous;
      const std::int64_t size = base::size_of(b.dtype).n, bytes = size * c.elements;
      const std::int64_t begin = b.space == lower::Space::kGlobal ? bases_[static_cast<std::size_t>(b.global)] : 0;
      std::vector<std::optional<std::int64_t>> at;
      for (std::int64_t l = 0; l < chip_.core.warp; ++l) {
        at.emplace_back();
        if (l < lanes.count() && lanes.holds(c.when, l) && (zeros || lanes.holds(c.inside, l)))
          at.back() = begin + b.offset_bytes + lanes.value(a->offset, l) * size;
      }
      count(at, bytes, b.space == lower::Space::kGlobal ? out.global : out.shared, b.space);
    }
  }
  void count(const std::vector<std::optional<std::int64_t>>& at, std::int64_t bytes, lower::AccessCount& out,
             lower::Space space) {
    const std::int64_t sector = arch::device_cache_of(chip_)->sector.n;
    const arch::ScratchpadLevel& pad = *arch::scratchpad_of(chip_);
    std::set<std::int64_t> sectors;
    std::int64_t active = 0, passes = 0;
    const auto group = static_cast<std::size_t>(std::max<std::int64_t>(1, pad.banks * pad.bank_width.n / bytes));
    std::map<std::int64_t, std::set<std::int64_t>> banks;
    const auto flush = [&] {
      std::size_t worst = 0;
      for (const auto& [bank, words] : banks) worst = std::max(worst, words.size());
      passes += static_cast<std::int64_t>(worst);
      banks.clear();
    };
    for (std::size_t l = 0; l < at.size(); ++l) {
      if (l % group == 0) flush();
      if (!at[l]) continue;
      ++active;
      for (std::int64_t byte = *at[l]; byte < *at[l] + bytes; ++byte) {
        sectors.insert(byte / sector);
        banks[byte / pad.bank_width.n % pad.banks].insert(byte / pad.bank_width.n);
      }
    }
    flush();
    const bool global = space == lower::Space::kGlobal;
    out += {active, active > 0 ? 1 : 0, active * bytes, global ? static_cast<std::int64_t>(sectors.size()) : 0,
            global ? 0 : passes};
  }

  const lower::Kernel& kernel_;
  const arch::ArchSpec& chip_;
  std::vector<std::int64_t> bases_;
  lower::KernelCounters& out_;
  std::size_t next_ = 0;
};

std::vector<lower::KernelCounters> counted_plainly(const lower::Module& m, const arch::ArchSpec& chip) {
  std::vector<lower::KernelCounters> all;
  for (const lower::Kernel& k : m.kernels) {
    lower::KernelCounters& counters = all.emplace_back(lower::copies_of(k).size());
    Walk walk(m, k, chip, counters);
    for (std::int64_t b = 0; b < k.blocks; ++b)
      for (std::int64_t t = 0; t < k.threads; t += chip.core.warp) walk.warp(b, t);
  }
  return all;
}

void expect_counts(const lower::Module& m, const arch::ArchSpec& chip) {
  const auto plain = counted_plainly(m, chip);
  const auto counted = count(m, chip);
  const SimReport full = simulated(m, chip);
  ASSERT_EQ(plain.size(), counted.size());
  for (std::size_t k = 0; k < plain.size(); ++k) {
    ASSERT_EQ(plain[k].size(), counted[k].size());
    for (std::size_t c = 0; c < plain[k].size(); ++c) {
      EXPECT_EQ(plain[k][c], counted[k][c]) << "kernel " << k << ", copy " << c;
      EXPECT_EQ(plain[k][c], full.kernels[k].counters[c]) << "simulated: kernel " << k << ", copy " << c;
    }
    EXPECT_TRUE(full.kernels[k].exact);
  }
}

TEST(Counts, OfHandWrittenKernelsAreThoseOfTheirThreads) {
  expect_counts(tiled_product(64, 64, 3), v100());
  expect_counts(tiled_product(50, 77, 2, 1), v100());
  expect_counts(stream(7, 96, 3, Stream::kCopy), v100());
  expect_counts(chase(20, 33, 2), v100());
}

TEST(Counts, FollowTheChipsBanksSectorsAndWarps) {
  const lower::Module m = tiled_product(50, 77, 2);
  for (const auto& change : std::vector<arch::Override>{
           {"memory.smem.banks", "8"}, {"memory.smem.bank_width", "8 B"}, {"memory.l2.sector", "64 B"}})
    expect_counts(m, chip("v100", {change}));
  expect_counts(m, chip("v100", {{"core.warp", "16"}, {"compute.mma.f16.threads", "32"}}));
  expect_counts(m, chip("mi50"));
}

TEST(Counts, OfAsynchronousCopiesCountBothSides) {
  HandKernel k(3, 64);
  const int a = k.global("A", 600), tile = k.shared("tile", 64 * 4), r = k.registers("r", 4);
  Statement s =
      copy({tile, affine({{1, 4}})}, {a, affine({{0, 256}, {1, 4}})}, 4, {}, {{affine({{0, 256}, {1, 4}}), 600}});
  std::get<Copy>(s.what).asynchronous = true;
  k.add(s);
  k.add({lower::Commit{}, {}});
  k.add({lower::Wait{0}, {}});
  k.add(barrier());
  k.add(copy({r, {}}, {tile, affine({{1, 4}})}, 4));
  expect_counts(k.module(), v100());
  const auto counted = count(k.module(), v100());
  EXPECT_EQ(counted[0][0].global.lane_accesses, 150);
  EXPECT_EQ(counted[0][0].shared.lane_accesses, 192);  // zeros are written where nothing is read
}

// Random operators cut at random: every way in which indices mix, guards fall and copies conflict.
RC_GTEST_PROP(Counts, OfRandomProgramsAreThoseOfTheirThreads, ()) {
  const lower::Module m = any_small_module(v100());
  const auto plain = counted_plainly(m, v100());
  RC_ASSERT(count(m, v100()) == plain);
  const SimReport full = simulated(m, v100());
  for (std::size_t k = 0; k < plain.size(); ++k) RC_ASSERT(full.kernels[k].counters == plain[k]);
}

}  // namespace
}  // namespace tilescope::sim
