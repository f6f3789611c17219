// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/choose.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/option.h"

namespace tilescope::experiments {

std::optional<StoredSweep> choose_sweep(const Store& store, const std::string& path, const std::string& title,
                                        base::Diagnostics& diags) {
  std::vector<StoredSweep> sweeps = store.sweeps();
  std::vector<std::string_view> titles;
  for (const StoredSweep& s : sweeps) titles.push_back(s.title);
  if (title.empty() && sweeps.size() == 1) return std::move(sweeps.front());
  for (StoredSweep& s : sweeps)
    if (s.title == title) return std::move(s);
  const std::string option = base::option("sweep");
  if (sweeps.empty())
    diags.error({diags.add_source(path)}, "has no sweep yet");
  else if (title.empty())
    diags.error({diags.add_source(path)},
                fmt::format("has several sweeps; choose one by {}: '{}'", option, fmt::join(titles, "', '")));
  else
    diags.error({diags.add_source(option + " " + title)},
                fmt::format("{} has no such sweep{}; it has '{}'", path, base::did_you_mean(title, titles),
                            fmt::join(titles, "', '")));
  return std::nullopt;
}

}  // namespace tilescope::experiments
