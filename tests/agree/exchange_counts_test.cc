// SPDX-License-Identifier: Apache-2.0
// What programs of cores that exchange do, by the model and by the simulator, which count apart, and by plain counts of
// both: of products over all cores and steps, of what ports were seen to send.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/integer.h"
#include "lower/bsp/lower.h"
#include "lower/bsp/places.h"
#include "model/bsp/estimate.h"
#include "sim/bsp/simulate.h"
#include "tests/support/build.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"

namespace tilescope::tests {
namespace {

std::optional<lower::bsp::Program> lowered(const tile::BspStage& s, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  return lower::bsp::lower({&s, 1}, a, diags);
}

TEST(Scratch, Deviations) {
  std::map<std::string, std::vector<double>> off;
  std::vector<std::pair<double, std::string>> worst;
  rc::check([&] {
    const arch::ArchSpec a = any_chip_of_exchanging_cores();
    const expr::Expression e = any_operator(9);
    tile::BspStage s = any_bsp_stage(e, a);
    s.prearranged = any_of_range(0, 1) == 1;
    s.tensors_in_cores = any_of_range(0, 3) == 0;
    const auto program = lowered(s, a);
    if (!program) return;
    const energy::Counts sim = sim::bsp::simulate(*program, a, {.mode = sim::Mode::kFull}).counts;
    const energy::Counts model = model::bsp::estimate({&s, 1}, a).counts;
    std::string text;
    const auto see = [&](const std::string& name, double m, double t) {
      const double d = m == t ? 0 : std::max(m, t) == 0 ? 0 : std::abs(m - t) / std::max(m, t);
      off[name].push_back(d);
      if (d > 0.001) text += fmt::format(" {} {:.6g} sim {:.6g};", name, m, t);
      return d;
    };
    double most = see("instructions", model.instructions, sim.instructions);
    RC_ASSERT(model.operations.size() == sim.operations.size());
    for (std::size_t o = 0; o < model.operations.size(); ++o)
      most = std::max(most, see("operations", model.operations[o].number, sim.operations[o].number));
    for (std::size_t p = 0; p < arch::kMaxPipes; ++p)
      most = std::max(most, see(fmt::format("pipe {}", p), model.pipe_cycles[p], sim.pipe_cycles[p]));
    for (std::size_t l = 0; l < model.levels.size(); ++l) {
      most = std::max(most, see(std::string(model.levels[l].name) + " read", model.levels[l].read_bytes, sim.levels[l].read_bytes));
      most = std::max(most, see(std::string(model.levels[l].name) + " written", model.levels[l].written_bytes, sim.levels[l].written_bytes));
    }
    most = std::max(most, see("link", model.link_bytes, sim.link_bytes));
    see("activates", model.activates, sim.activates);
    if (double m2 = std::max(off["link"].back(), std::max(off["sram read"].empty()?0:off["sram read"].back(), off["l1 read"].empty()?0:off["l1 read"].back())); m2 > 0.02) most = 1+m2;
 if (most > 0.001) worst.emplace_back(most, fmt::format("{} {} mc {} pair {} cores {} {}\n    {}", a.name, s.space->stage().text, (int)a.link->multicast, a.link->port_pairing.value_or(1), a.core.count, tile::in_words(s), text) + fmt::format(" grid {} block {} loops {} order {} extents", fmt::join(s.grid,","), fmt::join(s.block,","), fmt::join(s.loop_order, ","), fmt::join(s.core_order, ",")) + [&]{std::string t; for(auto&x: s.space->axes) t+=fmt::format(" {}{}", x.name, x.extent); return t;}()+ (s.prearranged?" pre":"")+(s.folded?" folded":""));
  });
  for (auto& [name, all] : off) {
    std::sort(all.begin(), all.end());
    const auto at = [&](double q) { return all[(std::size_t)(q * double(all.size() - 1))]; };
    fmt::print("{:16} n {} exact {:.3f} p90 {:.4f} p95 {:.4f} p99 {:.4f} max {:.4f}\n", name, all.size(),
      (double)std::count(all.begin(), all.end(), 0.0) / double(all.size()), at(.9), at(.95), at(.99), all.back());
  }
  std::sort(worst.rbegin(), worst.rend());
  for (std::size_t i = 0; i < worst.size() && i < 30; ++i) fmt::print("{:.3f} {}\n", worst[i].first, worst[i].second);
}

}  // namespace
}  // namespace tilescope::tests
