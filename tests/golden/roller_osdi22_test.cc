// SPDX-License-Identifier: Apache-2.0
// The artifact's search against what the artifact logged (a tile and the number of programs of every padding round, K80
// and MI50), and against all tiles that an independent reading of its rules predicts (also V100).

#include "construct/roller_osdi22.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/document.h"
#include "tests/support/csv.h"
#include "tests/support/osdi22.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

using construct::Osdi22Result;
using construct::Round;

constexpr std::size_t kLogged = 238;
constexpr std::size_t kPredicted = 3295;

// Searches each operator on each chip once.
class Searches {
 public:
  const Osdi22Result& of(const std::string& device, const std::string& id) {
    const auto found = results_.find({device, id});
    if (found != results_.end()) return found->second;
    if (!constants_.contains(device)) constants_.emplace(device, osdi22_constants(device));
    return results_.emplace(std::pair{device, id}, osdi22_search(suite_.at(id), constants_.at(device))).first->second;
  }

 private:
  std::map<std::string, expr::Expression> suite_ = roller_suite();
  std::map<std::string, arch::RollerBaseline> constants_;
  std::map<std::pair<std::string, std::string>, Osdi22Result> results_;
};

// What one row of the data says; the same whether it is written as CSV or YAML.
struct Logged {
  std::string device, id;
  bool io_dependent = false;
  std::size_t found = 0, index = 0;
  std::vector<Round> rounds;
  LoggedTile tile;
};

void expect_as_logged(const Logged& row, Searches& searches) {
  SCOPED_TRACE(testing::Message() << row.device << " " << row.id);
  const Osdi22Result& r = searches.of(row.device, row.id);
  EXPECT_EQ(r.io_dependent, row.io_dependent);
  EXPECT_EQ(r.rounds, row.rounds);
  ASSERT_EQ(r.programs.size(), row.found);
  EXPECT_EQ(logged_tile(r.programs.at(row.index)), row.tile);
}

std::vector<std::int64_t> integers(const base::Value& v) {
  std::vector<std::int64_t> out;
  for (const base::Value& item : *v.get_if<base::List>()) out.push_back(*item.get_if<std::int64_t>());
  return out;
}

std::vector<Round> rounds(const base::Value& v) {
  std::vector<Round> out;
  for (const base::Value& item : *v.get_if<base::List>()) {
    const base::List& pair = *item.get_if<base::List>();
    out.push_back({*pair[0].get_if<double>(), static_cast<int>(*pair[1].get_if<std::int64_t>())});
  }
  return out;
}

base::Value json(const std::string& text) {
  base::Diagnostics diags;
  const auto v = base::read_json(text, diags.add_source(text), diags);
  require_ok(diags);
  return v.value();
}

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

LoggedTile tile_of(const CsvRow& row) {
  return {integers(json(row.at("smem_tile"))), integers(json(row.at("reduce_step"))),
          integers(json(row.at("reg_tile")))};
}

TEST(RollerOsdi22, FindsWhatTheCommittedRowsSay) {
  base::Diagnostics diags;
  const base::SourceId source = diags.add_source("tests/golden/roller_osdi22_subset.yaml");
  const auto text = base::read_file(source_path("tests/golden/roller_osdi22_subset.yaml"), source, diags);
  require_ok(diags);
  const auto document = base::read_yaml(*text, source, diags);
  require_ok(diags);
  Searches searches;
  std::size_t rows = 0;
  for (const base::Value& row : *document->find("rows")->get_if<base::List>()) {
    const auto text_of = [&](const char* key) { return *row.find(key)->get_if<std::string>(); };
    const auto count_of = [&](const char* key) {
      return static_cast<std::size_t>(*row.find(key)->get_if<std::int64_t>());
    };
    expect_as_logged({text_of("device"),
                      text_of("operator"),
                      *row.find("io_dependent")->get_if<bool>(),
                      count_of("found"),
                      count_of("index"),
                      rounds(*row.find("rounds")),
                      {integers(*row.find("block")), integers(*row.find("step")), integers(*row.find("thread"))}},
                     searches);
    ++rows;
  }
  EXPECT_EQ(rows, 13u);
}

TEST(RollerOsdi22, FindsEveryLoggedTileAndRoundCount) {
  const auto path = shared_path("data/golden/roller_logged_tiles.csv");
  if (!path) GTEST_SKIP() << "needs data/golden/roller_logged_tiles.csv of the shared data ($TILESCOPE_SHARED)";
  Searches searches;
  const std::vector<CsvRow> rows = read_csv(*path);
  for (const CsvRow& row : rows)
    expect_as_logged({lower(row.at("device")), row.at("id"), row.at("io_dependent") == "True",
                      std::stoul(row.at("candidates_evaluated")), std::stoul(row.at("best_idx")),
                      rounds(json(row.at("found_per_eps"))), tile_of(row)},
                     searches);
  EXPECT_EQ(rows.size(), kLogged);
}

TEST(RollerOsdi22, FindsEveryPredictedTileInItsPlace) {
  const auto path = shared_path("data/golden/roller_candidates.csv");
  if (!path) GTEST_SKIP() << "needs data/golden/roller_candidates.csv of the shared data ($TILESCOPE_SHARED)";
  Searches searches;
  const std::vector<CsvRow> rows = read_csv(*path);
  std::map<std::pair<std::string, std::string>, std::size_t> lengths;
  for (const CsvRow& row : rows) {
    const std::string device = lower(row.at("device")), id = row.at("id");
    SCOPED_TRACE(testing::Message() << device << " " << id << " rank " << row.at("rank"));
    const std::size_t rank = std::stoul(row.at("rank"));
    ++lengths[{device, id}];
    const Osdi22Result& r = searches.of(device, id);
    EXPECT_EQ(r.io_dependent, row.at("policy") == "RT");
    ASSERT_LT(rank, r.programs.size());
    const tile::StageProgram& p = r.programs[rank];
    EXPECT_EQ(logged_tile(p), tile_of(row));
    EXPECT_EQ(p.threads(), std::stoll(row.at("threads")));
    EXPECT_EQ(p.blocks(), std::stoll(row.at("grid")));
  }
  for (const auto& [key, length] : lengths)
    EXPECT_EQ(searches.of(key.first, key.second).programs.size(), length) << key.first << " " << key.second;
  EXPECT_EQ(rows.size(), kPredicted);
  EXPECT_EQ(lengths.size(), 3 * 119u);
}

}  // namespace
}  // namespace tilescope::tests
