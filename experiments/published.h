#pragma once
// Kernel times that others published for a suite's operators, retyped with their source (experiments/published/*.yaml).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::experiments {

struct PublishedTimes {
  std::string device;
  std::string suite;
  std::vector<std::string> columns;                    // systems: roller_top1, roller_top10, library, ansor
  std::map<std::string, std::vector<double>> rows_us;  // by operator id, one time per column

  // Index of a column, or nothing.
  std::optional<std::size_t> column(std::string_view name) const;
};

// The published times for a suite on a device; nothing, and no error, where there are none.
std::optional<PublishedTimes> load_published(std::string_view device, std::string_view suite, base::Diagnostics& diags);

}  // namespace tilescope::experiments
