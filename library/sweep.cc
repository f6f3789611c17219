// SPDX-License-Identifier: Apache-2.0
// Sweeps and their stores through the C interface.

#include "experiments/sweep/sweep.h"

#include <functional>
#include <mutex>

#include "api/simulate/code_version.h"
#include "experiments/store/choose.h"
#include "experiments/store/store.h"
#include "experiments/sweep/export.h"
#include "library/objects.h"

using namespace tilescope;
using namespace tilescope::library;

int64_t tilescope_sweep(const char* file, const char* store, const tilescope_options* options,
                        tilescope_messages* messages) {
  return guarded<int64_t>(messages, -1, [&](base::Diagnostics& diags) -> int64_t {
    const Options o = options == nullptr ? Options() : options->options;
    experiments::SweepRequest request;
    request.file = given(file);
    request.store = given(store);
    request.tool_version = api::tool_version();
    request.jobs = o.threads();
    request.memory = o.memory;
    std::mutex one_at_a_time;
    bool ended = false;  // the caller wants no more
    const auto stop = [&] {
      const std::lock_guard lock(one_at_a_time);
      return ended;
    };
    const auto progress = [&](const experiments::SweepProgress& p) {
      if (!o.progress) return;
      const std::lock_guard lock(one_at_a_time);
      ended = o.progress(p.done + p.simulations_done, p.all + p.simulations_all) || ended;
    };
    const auto run = experiments::sweep(request, stop, progress, diags);
    if (!run) return -1;
    for (const std::string& lost : run->lost) diags.note({diags.add_source(given(store))}, lost);
    return static_cast<int64_t>(run->computed);
  });
}

tilescope_table* tilescope_store_read(const char* store, const char* title, tilescope_messages* messages) {
  return guarded<tilescope_table*>(messages, nullptr, [&](base::Diagnostics& diags) -> tilescope_table* {
    const auto opened = experiments::Store::open(given(store), diags);
    const auto sweep = opened ? experiments::choose_sweep(*opened, given(store), given(title), diags) : std::nullopt;
    if (!sweep) return nullptr;
    return handle(std::make_unique<CellsTable>(experiments::table_cells(*opened, *sweep)));
  });
}
