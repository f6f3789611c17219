// SPDX-License-Identifier: Apache-2.0
#include "cli/stored_sweep.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/usage.h"

namespace tilescope::cli {

using experiments::StoredSweep;

void StoredSweepOptions::add_to(CLI::App& command) {
  command.add_option("STORE", store, "The store of a sweep")->required()->check(some_text());
  command.add_option("--sweep", title, "Its title, where the store has several")->check(some_text());
}

std::optional<StoredSweep> chosen_sweep(const experiments::Store& store, const StoredSweepOptions& options,
                                        base::Diagnostics& diags) {
  const auto& [store_path, title] = options;
  std::vector<StoredSweep> sweeps = store.sweeps();
  std::vector<std::string_view> titles;
  for (const StoredSweep& s : sweeps) titles.push_back(s.title);
  if (title.empty() && sweeps.size() == 1) return std::move(sweeps.front());
  for (StoredSweep& s : sweeps)
    if (s.title == title) return std::move(s);
  if (sweeps.empty())
    diags.error({diags.add_source(store_path)}, "has no sweep yet");
  else if (title.empty())
    diags.error({diags.add_source(store_path)},
                fmt::format("has several sweeps; choose one by --sweep: '{}'", fmt::join(titles, "', '")));
  else
    diags.error({diags.add_source("--sweep " + title)},
                fmt::format("{} has no such sweep{}; it has '{}'", store_path, base::did_you_mean(title, titles),
                            fmt::join(titles, "', '")));
  return std::nullopt;
}

}  // namespace tilescope::cli
