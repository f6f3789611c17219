#pragma once
// The ways to find programs of an operator, by the names that --search takes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::experiments {

// Construction, its published form, and searches that try programs (docs/search.md).
enum class Search { kRoller, kRollerOsdi22, kExhaustive, kRandom, kGenetic, kAnneal };

struct SearchOptions {
  Search search = Search::kRoller;
  // Of the searches that try programs: how many of a stage they try at most, and where their chance begins.
  std::size_t budget = 500;
  std::uint64_t seed = 1;
};

// Every name, in the order of the searches.
std::vector<std::string_view> search_names();
std::string_view name_of(Search search);

// The search of that name, or an error that lists the names.
std::optional<Search> search_of(std::string_view name, base::Diagnostics& diags);

}  // namespace tilescope::experiments
