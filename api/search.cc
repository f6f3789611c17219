// SPDX-License-Identifier: Apache-2.0
#include "api/search.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/option.h"

namespace tilescope::api {
namespace {

struct NamedSearch {
  std::string_view name;
  Search search;
};
constexpr NamedSearch kSearches[] = {{"roller", Search::kRoller},          {"roller-osdi22", Search::kRollerOsdi22},
                                     {"welder-open", Search::kWelderOpen}, {"partition", Search::kPartition},
                                     {"exhaustive", Search::kExhaustive},  {"random", Search::kRandom},
                                     {"genetic", Search::kGenetic},        {"anneal", Search::kAnneal}};

}  // namespace

std::vector<std::string_view> search_names() {
  std::vector<std::string_view> names;
  for (const NamedSearch& s : kSearches) names.push_back(s.name);
  return names;
}

std::string_view name_of(Search search) {
  return std::find_if(std::begin(kSearches), std::end(kSearches), [&](const auto& s) { return s.search == search; })
      ->name;
}

std::optional<Search> search_of(std::string_view name, base::Diagnostics& diags) {
  for (const NamedSearch& s : kSearches)
    if (s.name == name) return s.search;
  diags.error({diags.add_source(base::option("search"))},
              fmt::format("expected one of {}, got '{}'{}", fmt::join(search_names(), ", "), name,
                          base::did_you_mean(name, search_names())));
  return std::nullopt;
}

}  // namespace tilescope::api
