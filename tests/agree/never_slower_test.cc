// SPDX-License-Identifier: Apache-2.0
// More of something is no slower: twice the banks, registers, cores, cache, bandwidth or clock, of random chips and
// operators, where both the chip's own programs and those of the smaller chip are tried, as sweeps and explain do.
// TILESCOPE_CASES=1000 tries so many of each kind; TILESCOPE_SEED draws others. A failure prints each slower case, and
// whether the very same program is slower by the model.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/construct.h"
#include "arch/derive.h"
#include "arch/load.h"
#include "arch/numbers.h"
#include "lower/lower.h"
#include "model/common/estimate.h"
#include "targets/target.h"
#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

using Random = std::mt19937_64;

std::size_t number_of(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

template <class T>
const T& any_of(Random& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

// One number of the chip changed to so many times itself.
std::optional<arch::Override> times(const arch::ArchSpec& a, const std::string& path, double factor) {
  for (const arch::Number& n : arch::numbers_of(a))
    if (n.path == path) return arch::set_to(n, n.value * factor);
  return std::nullopt;
}

// The path of a number that there is to be more of; empty where the chip has none.
using PathOf = std::function<std::string(const arch::ArchSpec&)>;

std::string of_level(const arch::LevelSpec* level, const char* key) {
  return level == nullptr ? std::string() : fmt::format("memory.{}.{}", level->name, key);
}

const std::vector<std::pair<std::string, PathOf>>& kinds() {
  static const std::vector<std::pair<std::string, PathOf>> kKinds = {
      {"Banks", [](const arch::ArchSpec& a) { return of_level(arch::scratchpad_of(a), "banks"); }},
      {"Registers", [](const arch::ArchSpec& a) { return of_level(arch::registers_of(a), "capacity"); }},
      {"Cores", [](const arch::ArchSpec&) { return std::string("core.count"); }},
      {"Cache", [](const arch::ArchSpec& a) { return of_level(arch::device_cache_of(a), "capacity"); }},
      {"Bandwidth", [](const arch::ArchSpec& a) { return of_level(arch::dram_of(a), "channels"); }},
      {"Clock", [](const arch::ArchSpec&) { return std::string("clock"); }},
  };
  return kKinds;
}

struct WelderCase {
  std::string device;
  std::vector<arch::Override> changes;
  expr::Expression expression;
  std::string name;
};

expr::Expression any_operator(Random& random, std::string& name) {
  const auto n = [&](std::int64_t most) {
    const std::int64_t power = std::int64_t{1} << (random() % 13);
    return std::clamp<std::int64_t>(power + (random() % 3 == 0 ? static_cast<std::int64_t>(random() % 9) - 4 : 0), 1,
                                    most);
  };
  const base::Dtype dtype = random() % 2 == 0 ? base::Dtype::kF32 : base::Dtype::kF16;
  std::string op, sizes;
  switch (random() % 7) {
    case 0:
    case 1:
      op = "C[m,n] +=! A[m,k] * B[k,n]";
      sizes = fmt::format("m={},n={},k={}", n(4096), n(4096), n(4096));
      break;
    case 2:
      op = "C[b,m,n] +=! A[b,m,k] * B[b,n,k]";
      sizes = fmt::format("b={},m={},n={},k={}", n(512), n(1024), n(1024), n(1024));
      break;
    case 3: {
      const std::int64_t y = 4 + static_cast<std::int64_t>(random() % 60), r = 1 + 2 * (random() % 3);
      op = "O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]";
      sizes = fmt::format("n={},f={},y={},x={},c={},r={},s={}", n(128), n(512), y, y, n(512), r, r);
      break;
    }
    case 4: {
      const std::int64_t y = 4 + static_cast<std::int64_t>(random() % 100), r = 2 + random() % 4;
      op = "O[n,c,y,x] +=! I[n,c,y+r,x+s] * W[c,r,s]";
      sizes = fmt::format("n={},c={},y={},x={},r={},s={}", n(128), n(512), y, y, r, r);
      break;
    }
    case 5:
      op = "O[i] +=! I[i,j]";
      sizes = fmt::format("i={},j={}", 16 * n(4096), n(4096));
      break;
    default:
      op = "O[i,j] = A[i,j] + B[j]";
      sizes = fmt::format("i={},j={}", 16 * n(4096), n(4096));
  }
  name = fmt::format("{} {} {}", op, sizes, base::name_of(dtype));
  return expression(op, sizes, {}, dtype);
}

// A chip of the files with some of its numbers a power of two away; nothing where its reader refuses it.
std::optional<arch::ArchSpec> any_chip(Random& random, std::string& device, std::vector<arch::Override>& changes,
                                       std::string& name) {
  static const std::vector<std::string> kDevices = {"v100",    "a100", "h100_pcie", "h200", "rtx2080ti",
                                                    "rtx3090", "t4",   "k80",       "mi50", "mi210"};
  device = name = any_of(random, kDevices);
  const arch::ArchSpec plain = chip(device);
  for (const auto& [kind, path_of] : kinds()) {
    if (random() % 3 != 0) continue;
    const auto change = times(plain, path_of(plain), any_of<double>(random, {0.5, 2}));
    if (change) changes.push_back(*change);
    if (change) name += fmt::format(" {}={}", change->path, change->value);
  }
  base::Diagnostics diags;
  auto a = arch::load_arch(device, changes, diags);
  return diags.ok() ? std::move(a) : std::nullopt;
}

double time_of(const tile::RProgram& p, const targets::Estimator& estimate, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  for (const tile::StageProgram& stage : p.simt())
    if (!lower::check_lowerable(stage, a, diags)) return std::numeric_limits<double>::infinity();
  const auto e = estimate(p, nullptr, {});
  return e ? e->total_us : std::numeric_limits<double>::infinity();
}

struct Tried {
  double smaller_us = 0, larger_us = 0;
  double same_us = 0;  // of the smaller chip's best program on the larger one
};

Tried tried(const arch::ArchSpec& smaller, const arch::ArchSpec& larger, const expr::Expression& e) {
  constexpr std::size_t kKeep = 10;
  const targets::Estimator on_smaller = targets::target_of(smaller).estimate(smaller);
  const targets::Estimator on_larger = targets::target_of(larger).estimate(larger);
  const auto own = api::construct(e, larger, {{}, kKeep}).programs,
             known = api::construct(e, smaller, {{}, kKeep}).programs;
  Tried out{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 0};
  for (const api::RankedProgram& r : known) {
    const double us = time_of(r.program, on_smaller, smaller), there = time_of(r.program, on_larger, larger);
    if (us < out.smaller_us) out.same_us = there;
    out.smaller_us = std::min(out.smaller_us, us);
    out.larger_us = std::min(out.larger_us, there);
  }
  for (const api::RankedProgram& r : own)
    out.larger_us = std::min(out.larger_us, time_of(r.program, on_larger, larger));
  return out;
}

class NeverSlower : public testing::TestWithParam<std::size_t> {};

TEST_P(NeverSlower, WithTwiceAsMuch) {
  const auto& [kind, path_of] = kinds()[GetParam()];
  const std::size_t cases = number_of("TILESCOPE_CASES", 60), seed = number_of("TILESCOPE_SEED", 1);
  Random random(seed * 1000 + GetParam());
  constexpr double kTolerance = 1.005;
  std::size_t tried_cases = 0, slower = 0, same_slower = 0;
  std::string text;
  while (tried_cases < cases) {
    std::string device, chip_name, op_name;
    std::vector<arch::Override> changes;
    const auto smaller = any_chip(random, device, changes, chip_name);
    const expr::Expression e = any_operator(random, op_name);
    if (!smaller) continue;
    const auto more = times(*smaller, path_of(*smaller), 2);
    if (!more) continue;
    changes.push_back(*more);
    base::Diagnostics diags;
    const auto larger = arch::load_arch(device, changes, diags);
    if (!larger || !diags.ok()) continue;
    const Tried t = tried(*smaller, *larger, e);
    if (t.smaller_us == std::numeric_limits<double>::infinity()) continue;
    ++tried_cases;
    if (t.larger_us <= kTolerance * t.smaller_us) continue;
    ++slower;
    same_slower += t.same_us > kTolerance * t.smaller_us ? 1 : 0;
    text += fmt::format("{} | {} | {} us, then {} us ({:+.1f} %), the same program {} us\n", chip_name, op_name,
                        t.smaller_us, t.larger_us, 100 * (t.larger_us / t.smaller_us - 1), t.same_us);
  }
  std::cout << fmt::format("{}: {} of {} slower (the same program in {} of them), seed {}\n", kind, slower, cases,
                           same_slower, seed);
  EXPECT_LE(slower, std::max<std::size_t>(1, cases / 100)) << text;
  if (slower > 0) std::cout << text;
}

INSTANTIATE_TEST_SUITE_P(Kinds, NeverSlower, testing::Range<std::size_t>(0, 6),
                         [](const auto& kind) { return kinds()[kind.param].first; });

}  // namespace
}  // namespace tilescope::tests
