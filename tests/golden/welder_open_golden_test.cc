// SPDX-License-Identifier: Apache-2.0
// The tile policy of Welder's open code against what its original classes answered: base tiles, first reduction steps,
// numbers of valid tiles, and the best configurations with everything that the policy chooses of them.

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "construct/welder_open.h"
#include "tests/support/paths.h"
#include "tests/support/welder.h"
#include "tile/graph.h"

namespace tilescope::tests {
namespace {

constexpr std::size_t kCases = 72;

double number(const base::Value& v) {
  if (const auto* n = v.get_if<std::int64_t>()) return static_cast<double>(*n);
  return *v.get_if<double>();
}

// Numbers of a list, or the values of a map in order.
std::string numbers(const base::Value& v) {
  std::vector<double> out;
  if (const auto* list = v.get_if<base::List>())
    for (const base::Value& item : *list) out.push_back(number(item));
  if (const auto* map = v.get_if<base::Map>())
    for (const base::Entry& e : *map) out.push_back(number(e.value));
  return fmt::format("[{}]", fmt::join(out, ","));
}

std::string numbers(const tile::Extents& v) { return fmt::format("[{}]", fmt::join(v, ",")); }

// Names of inputs are in0, in1, ...; the product that is scaled has the scalar as its first one.
std::string golden_stage(const base::Value& v, int first_input) {
  std::string out = numbers(*v.find("block")) + " steps " + numbers(*v.find("rstep"));
  if (const base::Value* warp = v.find("warp"))
    return out + " warp " + numbers(*warp) + " of " + numbers(*v.find("wmma")) +
           (*v.find("cutlass")->get_if<bool>() ? " cutlass" : "");
  out += " threads " + numbers(*v.find("thread")) + numbers(*v.find("reduce_thread"));
  for (const base::Entry& e : *v.find("vectorize")->get_if<base::Map>())
    out += fmt::format(" {}:{}", std::stoi(e.key.substr(2)) - first_input, number(e.value));
  return out + " packed " + numbers(*v.find("step"));
}

std::string own_stage(const construct::WelderStage& s, const std::vector<int>& reads) {
  std::string out = numbers(s.block) + " steps " + numbers(s.steps);
  if (s.warps)
    return out + " warp " + numbers(s.warps->warp) +
           fmt::format(" of [{},{},{}]{}", s.warps->m, s.warps->n, s.warps->k, s.warps->cutlass ? " cutlass" : "");
  out += " threads " + numbers(s.threads) + numbers(s.reduction_threads);
  for (const auto& [tensor, n] : s.vectors)
    out += fmt::format(" {}:{}", std::find(reads.begin(), reads.end(), tensor) - reads.begin(), n);
  return out + " packed " + numbers(s.packed);
}

std::string golden_panels(const std::string& text) {
  if (text == "<NoRasterization>") return "";
  return fmt::format("{} {}", text.find("Row") != std::string::npos ? "row" : "column",
                     numbers_in(text.substr(text.find('('))).front());
}

std::vector<std::string> golden(const base::Value& c) {
  std::vector<std::string> out = {"base " + numbers(*c.find("base_tile")),
                                  fmt::format("valid {}", number(*c.find("num_valid_tiles")))};
  for (const base::Entry& e : *c.find("rstep0")->get_if<base::Map>()) out.push_back("first " + numbers(e.value));
  for (const base::Value& t : *c.find("top")->get_if<base::List>()) {
    out.push_back(fmt::format("tile {} traffic {} smem {} blocks {} waves {} grid {} score {} {}",
                              numbers(*t.find("tile")), number(*t.find("traffic_per_tile")), number(*t.find("smem")),
                              number(*t.find("blocks_per_sm")), number(*t.find("waves")), number(*t.find("grid")),
                              number(*t.find("prio")), golden_panels(*t.find("raster")->get_if<std::string>())));
    for (const base::Entry& e : *t.find("cfg")->get_if<base::Map>())
      out.push_back(golden_stage(e.value, e.key == "bmm_div" ? 1 : 0));
  }
  return out;
}

std::vector<std::string> own(const expr::Expression& e, const arch::WelderBaseline& constants, std::size_t keep) {
  const construct::WelderResult r = construct::welder_open(e, constants, keep);
  const tile::TileGraph graph = tile::make_tile_graph(e);
  std::vector<std::string> out = {"base " + numbers(r.base_tile), fmt::format("valid {}", r.valid_tiles)};
  for (const tile::Extents& steps : r.first_steps) out.push_back("first " + numbers(steps));
  for (const construct::WelderConfiguration& c : r.configurations) {
    out.push_back(
        fmt::format("tile {} traffic {} smem {} blocks {} waves {} grid {} score {} {}", numbers(c.tile),
                    c.traffic_bytes, c.smem_bytes, c.blocks_per_core, c.waves, c.grid, c.score,
                    c.panels ? fmt::format("{} {}", c.panels->by_row ? "row" : "column", c.panels->width) : ""));
    for (std::size_t s = 0; s < c.stages.size(); ++s) out.push_back(own_stage(c.stages[s], graph.reads[s]));
  }
  return out;
}

TEST(WelderOpenGolden, AnswersAsTheOriginalDoes) {
  const auto path = shared_path("data/golden/welder_golden.json");
  if (!path) GTEST_SKIP() << "needs data/golden/welder_golden.json of the shared data ($TILESCOPE_SHARED)";
  const base::Value document = json_file(*path);
  const base::List& cases = *document.find("cases")->get_if<base::List>();
  for (const base::Value& c : cases) {
    const std::string id = *c.find("id")->get_if<std::string>(), chip = *c.find("arch")->get_if<std::string>();
    SCOPED_TRACE(testing::Message() << chip << ' ' << id);
    const expr::Expression e = welder_operator(id, *c.find("op")->get_if<std::string>());
    // How many the data keeps is its own limit: none where there are none.
    const std::size_t keep = std::max<std::size_t>(1, c.find("top")->get_if<base::List>()->size());
    EXPECT_EQ(own(e, welder_constants(chip), keep), golden(c));
  }
  EXPECT_EQ(cases.size(), kCases);
}

}  // namespace
}  // namespace tilescope::tests
