// SPDX-License-Identifier: Apache-2.0
#include "cli/network_table.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/legend.h"
#include "cli/progress.h"

namespace tilescope::cli {

int write_network_table(const api::NetworkSource& source, const arch::ArchSpec& chip, api::TableHow how,
                        const NetworkTableOptions& o, base::Diagnostics& diags) {
  const auto axes = api::read_table_axes(o.axes, diags);
  if (!o.file.ends_with(".csv")) diags.error({diags.add_source("-o " + o.file)}, "expected a file that ends in .csv");
  if (!diags.ok()) return report(diags);
  Progress progress("points");
  how.progress = [&](std::size_t done, std::size_t all, std::size_t before) { progress.update(done, all, {}, before); };
  const auto table = api::write_network_table(source, *axes, chip, how, o.file, diags);
  if (!table) return report(diags);
  report_notes(diags);
  if (o.json)
    print_json(base::to_entries(*table), diags);
  else
    fmt::print(
        "{}: {} points, {} computed now, {} of them refused and {} without a time; {} rows; programs of {} "
        "expressions compared, {} constructed\n",
        table->file, table->points, table->computed, table->refused, table->failed, table->rows, table->expressions,
        table->constructed);
  if (!o.json) print_network_table_legend(o.legend);
  return table->failed == 0 ? kDone : kFailed;
}

}  // namespace tilescope::cli
