// SPDX-License-Identifier: Apache-2.0
// tilescope merge: the stores of a sweep's shards into one.

#include "experiments/store/merge.h"

#include <exception>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/sweep_tables.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct MergeOptions {
  std::string store;
  std::vector<std::string> shards;
  bool json = false;
};

int run(const MergeOptions& o) {
  base::Diagnostics diags;
  std::optional<experiments::Merged> merged;
  try {
    merged = experiments::merge(o.store, o.shards, diags);
  } catch (const std::exception& e) {  // unless it says otherwise, nothing was merged
    const bool names_file = dynamic_cast<const experiments::StoreError*>(&e) != nullptr;
    fmt::print(stderr, "{}{}\n", names_file ? "" : o.store + ": ", e.what());
    return dynamic_cast<const experiments::PartlyMerged*>(&e) != nullptr ? kFailed : kBadInput;
  }
  if (!merged) return report(diags);
  report_notes(diags);
  if (o.json) {
    base::Map out = {{"store", o.store}};
    base::Value rest = experiments::to_document(*merged);
    base::append(out, std::move(*rest.get_if<base::Map>()));
    print_json(std::move(out), diags);
  } else {
    const experiments::StoredShards& s = merged->shards;
    fmt::print("{}: {}, {} of {} shards, {} of {} points; {} rows read, {} of them new, in {:.3g} s\n", o.store,
               merged->title, s.here.size(), s.count, merged->points, s.points, merged->read, merged->added,
               merged->seconds);
  }
  print_missing(merged->shards);
  if (merged->lacking > 0)
    fmt::print(stderr,
               "{}: {} rows are missing though their shards say that all were computed; tilescope sweep SPEC.yaml "
               "--store {} computes them\n",
               o.store, merged->lacking, o.store);
  return merged->complete() ? kDone : kFailed;
}

}  // namespace

void add_merge(CLI::App& app, int& status) {
  auto o = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "The stores of a sweep's shards into one");
  command->add_option("OUT", o->store, "The store that they go into: made where it is not there")
      ->required()
      ->check(some_text());
  command->add_option("SHARD", o->shards, "Stores of sweep --shard, or of merge")->required()->check(some_text());
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli
