// SPDX-License-Identifier: Apache-2.0
// A number of a chip that changes the simulated time of a program changes its predicted time, or stands in a list with
// the reason.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arch/numbers.h"
#include "construct/roller.h"
#include "lower/lower.h"
#include "model/simt/estimate.h"
#include "sim/simulate.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tile/fit.h"

namespace tilescope::tests {
namespace {

struct Operator {
  const char* text;
  const char* sizes;
  base::Dtype dtype;
};

// Their results are small: the simulator leaves results in the caches, the model has them written to the DRAM.
constexpr Operator kOperators[] = {
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", base::Dtype::kF16},
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=256,n=256,k=256", base::Dtype::kF32},
    {"O[m] +=! X[m,n]", "m=512,n=2048", base::Dtype::kF32},
    {"O[n] +=! X[m,n]", "m=2048,n=512", base::Dtype::kF32},
    {"O[c,y,x] max=! X[c,y*4+r,x*4+s]", "c=64,y=32,x=32,r=4,s=4", base::Dtype::kF32},
};

// What the model ignores: numbers, by a regular expression, that move a simulated time and no predicted one.
struct Ignored {
  const char* paths;
  const char* reason;
  double most;       // the largest change of a simulated time, as a ratio
  const char* chip;  // one that shows it
};
const std::vector<Ignored> kIgnored = {
    {R"(memory\.\w+\.(pseudo_channels|timing\.ccd_l))",
     "columns of one bank group or pseudo-channel in a row wait; the model has the rates of all together", 0.1, "a100"},
    {R"(memory\.l1\.mshrs)", "a loaded memory replies later than the idle one that the model bounds misses by", 0.1,
     "mi210"},
    {R"(core\.warp_launch)", "a block's last warp begins later; in the model other blocks compute meanwhile", 0.1,
     "a100"},
    {R"(memory\.\w+\.(ranks|row))", "a request waits for the row that it opens; the model counts commands of rows", 0.1,
     "a100"},
    {R"(memory\.\w+\.burst)",
     "a burst of several sectors is simulated once for each request of one of them, predicted once", 0.75, "my_chip"},
};

constexpr double kMoves = 0.05, kHears = 0.005;  // relative changes of a simulated and of a predicted time

double predicted_us(const tile::RProgram& p, const arch::ArchSpec& a) {
  const auto e = model::estimate(p, model::make_machine(a));
  return e ? e->total_us : 0;
}

double simulated_us(const tile::RProgram& p, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const auto module = lower::lower(p, a, diags);
  if (!module) return 0;
  try {
    const sim::SimReport r = sim::simulate(*module, a, {.mode = sim::Mode::kSampled});
    return static_cast<double>(r.cycles) / static_cast<double>(a.clock.n) * 1e6;
  } catch (const sim::SimError&) {
    return 0;
  }
}

// What one number, halved or doubled, does to programs whose simulated times it moves.
struct Effect {
  double moves = 0;  // the largest relative change of a simulated time
  bool heard = false;
};

// A program with its times on its own chip.
struct Timed {
  tile::RProgram program;
  double predicted_us = 0, simulated_us = 0;
};

std::vector<Timed> programs_of(const arch::ArchSpec& a) {
  std::vector<Timed> out;
  for (const Operator& o : kOperators) {
    const auto found = construct::roller(expression(o.text, o.sizes, {}, o.dtype), a, 1);
    if (found.empty()) continue;
    Timed t{tile::program_of(a.name, found.front().program), 0, 0};
    t.predicted_us = predicted_us(t.program, a);
    t.simulated_us = simulated_us(t.program, a);
    if (t.simulated_us > 0) out.push_back(std::move(t));
  }
  return out;
}

Effect effect_of(const arch::Number& n, const std::string& name, const std::vector<Timed>& programs) {
  Effect out;
  for (const double factor : {2.0, 0.5}) {
    const double value = n.whole ? std::floor(factor * n.value) : factor * n.value;
    if (value <= 0 || value == n.value) continue;
    base::Diagnostics diags;
    const auto changed = arch::load_arch(name, {arch::set_to(n, value)}, diags);
    if (!changed || !diags.ok()) continue;
    for (const Timed& t : programs) {
      if (!tile::fits(t.program.simt().front(), *changed)) continue;
      const double simulated = simulated_us(t.program, *changed), predicted = predicted_us(t.program, *changed);
      if (simulated == 0 || predicted == 0 || std::abs(simulated / t.simulated_us - 1) <= kMoves) continue;
      out.moves = std::max(out.moves, std::abs(simulated / t.simulated_us - 1));
      out.heard = out.heard || std::abs(predicted / t.predicted_us - 1) > kHears;
    }
  }
  return out;
}

class DeafKeys : public testing::TestWithParam<std::string> {};

TEST_P(DeafKeys, AreListed) {
  const std::string name = GetParam();
  const arch::ArchSpec own = chip(name);
  const std::vector<Timed> programs = programs_of(own);
  ASSERT_EQ(programs.size(), std::size(kOperators));
  std::vector<const Ignored*> met;
  for (const arch::Number& n : arch::numbers_of(own)) {
    const Effect e = effect_of(n, name, programs);
    if (e.moves == 0 || e.heard) continue;
    const auto listed = std::find_if(std::begin(kIgnored), std::end(kIgnored),
                                     [&](const Ignored& i) { return std::regex_match(n.path, std::regex(i.paths)); });
    if (listed == std::end(kIgnored)) {
      ADD_FAILURE() << n.path << " of " << own.name << " moves a simulated time by " << e.moves
                    << " and no predicted one";
      continue;
    }
    met.push_back(&*listed);
    EXPECT_LE(e.moves, listed->most) << n.path << " of " << own.name << ": " << listed->reason;
  }
  for (const Ignored& known : kIgnored) {
    if (known.chip != own.name) continue;
    EXPECT_NE(std::find(met.begin(), met.end(), &known), met.end()) << known.paths << ": is heard now; take it off";
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, DeafKeys, testing::Values("a100", "mi210", source_path("docs/my_chip.yaml").string()),
                         [](const auto& chip) { return std::filesystem::path(chip.param).stem().string(); });

}  // namespace
}  // namespace tilescope::tests
