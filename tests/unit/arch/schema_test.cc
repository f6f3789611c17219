// SPDX-License-Identifier: Apache-2.0
// The JSON Schema, under a validator that shares no code with the loader.

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "arch/load.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

using nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

class Validator {
 public:
  Validator() { valijson::SchemaParser().populateSchema(Adapter(text_), schema_); }
  bool accepts(const json& document) { return valijson::Validator().validate(schema_, Adapter(document), nullptr); }

 private:
  json text_ = json::parse(base::to_json(arch::schema()));
  valijson::Schema schema_;
};

bool is_valid(const json& document) {
  static Validator validator;
  return validator.accepts(document);
}

// The YAML file as JSON, or nothing where it is no YAML that we read.
std::optional<json> json_of(const std::filesystem::path& file) {
  base::Diagnostics diags;
  const auto document = base::read_yaml(text_of_file(file), diags.add_source(file.string()), diags);
  if (!document) return std::nullopt;
  return json::parse(base::to_json(*document));
}

TEST(Schema, StandsInTheTree) {
  expect_text_of_file(base::to_json(arch::schema(), 2) + "\n", source_path("arch/schema.json"));
}

TEST(Schema, TakesEveryDevice) {
  for (const arch::Device& device : arch::list_devices())
    EXPECT_TRUE(is_valid(json_of(device.path).value())) << device.name;
}

// Mistakes that only the loader can see: figures that do not agree, names that are nowhere, keys that JSON drops.
const std::set<std::string> kWellFormed = {"bounds_of_caches",
                                           "bsp_keys_of_warps",
                                           "bsp_tiles",
                                           "bsp_wide_load",
                                           "bsp_without_exchange",
                                           "bsp_without_link",
                                           "cache_before_partitions",
                                           "cache_lines",
                                           "cache_sectors",
                                           "cache_sets",
                                           "cache_slices",
                                           "cluster_of_too_many",
                                           "controller_watermarks",
                                           "controller_without",
                                           "cluster_scratchpad",
                                           "cluster_without_width",
                                           "cycle_a",
                                           "cycle_b",
                                           "cycle_of_one",
                                           "dram_at_no_port",
                                           "dram_between_cores",
                                           "dram_of_an_exchange",
                                           "dram_ports",
                                           "duplicate_key",
                                           "duplicate_key_of_a_variant",
                                           "exchange_of_clusters",
                                           "exchange_of_rectangles",
                                           "extends_nothing",
                                           "extends_twice",
                                           "fragment_loads",
                                           "fragment_maps",
                                           "fragments",
                                           "granules",
                                           "key_of_another_kind",
                                           "keys_of_an_exchange",
                                           "keys_of_bsp",
                                           "keys_of_pseudo_channels_on_bsp",
                                           "level_called_latency",
                                           "level_order",
                                           "levels_of_one_role",
                                           "levels_without_role",
                                           "made_by_the_file",
                                           "many_caches",
                                           "mapping",
                                           "mapping_below_capacity",
                                           "mapping_cuts_lines",
                                           "mapping_folds_itself",
                                           "mapping_folds_nothing",
                                           "mapping_folds_twice",
                                           "mapping_gap",
                                           "memory_side_in_core",
                                           "memory_with_core",
                                           "minimal",
                                           "minimal_bsp",
                                           "minimal_memory",
                                           "neighbour_without_base",
                                           "no_latency",
                                           "outer_caches",
                                           "overflow",
                                           "partial_write_alone",
                                           "partial_writes_of_two_caches",
                                           "peak_contradicts",
                                           "ports_of_scratchpads",
                                           "pseudo_channels",
                                           "refresh_of_one_bank",
                                           "refresh_per_bank",
                                           "reserved",
                                           "rows_and_banks",
                                           "sector_beyond_line",
                                           "shares_elsewhere",
                                           "shares_itself",
                                           "shares_unknown",
                                           "threads",
                                           "timing",
                                           "timing_groups",
                                           "timing_refresh",
                                           "timing_rows",
                                           "timing_windows",
                                           "timing_without_rows",
                                           "too_wide",
                                           "two_drams",
                                           "wide_access",
                                           "wide_burst",
                                           "wider_warp",
                                           "write_granule_alone"};

class SchemaOnErrors : public testing::TestWithParam<std::string> {};

TEST_P(SchemaOnErrors, RefusesWhatIsWronglyBuilt) {
  const auto document = json_of(source_path("tests/error/arch/" + GetParam() + ".yaml"));
  if (!document) return;  // no schema sees what is no YAML
  EXPECT_EQ(is_valid(*document), kWellFormed.contains(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, SchemaOnErrors, testing::ValuesIn(names_in(source_path("tests/error/arch"), ".yaml")),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace tilescope::tests
