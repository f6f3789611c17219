// SPDX-License-Identifier: Apache-2.0
// tilescope trace: a DRAM level, or the caches before it, driven by a file of requests.

#include "api/simulate/trace.h"

#include <iterator>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/program_options.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct TraceOptions {
  ArchOptions arch;
  std::string level, inject = "sat", file;
  bool json = false;
};

void print(const api::TraceRow& r) {
  fmt::print("{} requests, {} bursts in {} cycles, {:.1f} us\n", r.requests, r.bursts, r.cycles, r.time_us);
  fmt::print("{} {:.2f} GB/s, {:.1f} % of its peak; {:.1f} % of the bursts find their row open\n",
             r.caches ? r.caches->levels.back().name : "bus", r.bus_gbps, 100 * r.peak_ratio, 100 * r.row_hit_ratio);
  if (r.mean_latency_ns > 0)
    fmt::print("reads wait {:.1f} ns; 50 % of them at most {:.1f} ns, 95 % {:.1f} ns, 99 % {:.1f} ns, all {:.1f} ns\n",
               r.mean_latency_ns, r.p50_latency_ns, r.p95_latency_ns, r.p99_latency_ns, r.max_latency_ns);
  if (!r.caches) return;
  const auto& levels = r.caches->levels;
  for (auto l = levels.rbegin(); l != levels.rend(); ++l)
    fmt::print("{}: {} of {} {} hit; {} B read, {} B written\n", l->name, l->hits, l->transactions,
               std::next(l) == levels.rend() ? "bursts" : "sectors", l->read_bytes, l->written_bytes);
  if (r.caches->dirtied_bytes > 0) fmt::print("{} B were made dirty\n", r.caches->dirtied_bytes);
}

int run(const TraceOptions& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load(diags);
  const auto text = base::read_file(o.file, diags.add_source(o.file), diags, kBatchLimits);
  const auto row = diags.ok() ? api::run_trace({o.file, *text}, *a, {o.level, o.inject}, diags) : std::nullopt;
  if (!row) return report(diags);
  report_notes(diags);
  if (o.json)
    print_json(api::to_entries(*row));
  else
    print(*row);
  return kDone;
}

}  // namespace

void add_trace(CLI::App& app, int& status) {
  auto o = std::make_shared<TraceOptions>();
  CLI::App* command = app.add_subcommand("trace", "Drive a DRAM, or the caches before it, with a file of requests");
  o->arch.add_to(*command);
  command
      ->add_option("--level", o->level,
                   "Where requests enter: the DRAM, where it is not given, or the cache that cores reach first")
      ->check(some_text());
  command
      ->add_option("--inject", o->inject,
                   "How they arrive: sat as fast as they are taken, win:N with N under way, rate:F at F of the peak")
      ->capture_default_str();
  command
      ->add_option("file", o->file,
                   "Lines of '<hex address> <R|W> <bytes>', all with the cycle of the level's clock at which they "
                   "arrive, or none")
      ->required()
      ->check(some_text());
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli
