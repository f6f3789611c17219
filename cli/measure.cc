// SPDX-License-Identifier: Apache-2.0
// tilescope measure: programs on the GPU of this machine; their values, and their times beside what is predicted.

#include "experiments/measure/measure.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parse_number.h"
#include "cli/command.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "experiments/microbench/measure.h"

namespace tilescope::cli {
namespace {

using experiments::MeasuredRow;
using experiments::Measurement;

struct MeasureOptions {
  ArchOptions arch;
  ProgramOptions programs;
  MicrobenchmarkOption microbench;
  experiments::MeasureOptions measure;
  std::vector<std::string> baselines;
  std::string scale, csv;
  std::size_t top = 1;
  bool json = false;
};

// The words that this program was called with, for who reads the rows.
std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string out = "tilescope", word;
  std::getline(in, word, '\0');
  while (std::getline(in, word, '\0'))
    out += word.find_first_of(" *[];") == std::string::npos ? " " + word : fmt::format(" '{}'", word);
  return out;
}

// What a plan's line may say (backends/cuda/device/plan.h).
CLI::Validator seconds() {
  return {[](const std::string& text) {
            const auto value = base::parse_real(text);
            return value && *value >= 1e-3 && *value <= 1e5
                       ? std::string()
                       : fmt::format("expected 0.001 to 100000 seconds, got '{}'", text);
          },
          "SECONDS"};
}

std::string name_of(const MeasuredRow& r) {
  if (!r.baseline.empty()) return r.baseline;
  return fmt::format("{}", r.rank);
}

std::string error_text(const MeasuredRow& r) {
  return r.measured && r.predicted_us ? percent_text(*r.predicted_us / r.measured->us - 1) : "";
}

void print_table(const Measurement& m, bool dry_run) {
  Table table({{"id"},
               {"kind"},
               {"#"},
               {"predicted", true},
               {"measured", true},
               {"spread", true},
               {"error", true},
               {"correct"},
               {"registers", true},
               {"spills", true}});
  for (const MeasuredRow& r : m.rows)
    if (r.errors.empty())
      table.add({r.id, r.kind, name_of(r), r.predicted_us ? time_text(*r.predicted_us) : "",
                 r.measured ? time_text(r.measured->us) : "", r.measured ? share_text(r.measured->spread_ratio) : "",
                 error_text(r), r.values, r.usage ? fmt::format("{}", r.usage->registers()) : "",
                 r.usage ? fmt::format("{} B", r.usage->spill_bytes()) : ""});
  table.print();
  const auto count = [&](auto what) { return std::count_if(m.rows.begin(), m.rows.end(), what); };
  const auto ok = count([](const MeasuredRow& r) { return r.errors.empty(); });
  if (dry_run)
    fmt::print("\n{} of {} are ready to be launched\n", ok, m.rows.size());
  else
    fmt::print("\nmeasured {0} of {3}, correct {1}, failed {2}\n",
               count([](const MeasuredRow& r) { return r.measured.has_value(); }),
               count([](const MeasuredRow& r) { return r.values == "ok"; }), m.rows.size() - ok, m.rows.size());
  if (m.launch_us) fmt::print("a kernel that does nothing takes {}\n", time_text(*m.launch_us));
}

void print_curves(const experiments::MeasuredCurves& m, bool dry_run) {
  if (dry_run) {
    const auto ok = std::count_if(m.rows.begin(), m.rows.end(),
                                  [](const experiments::MicrobenchmarkRow& r) { return r.error.empty(); });
    fmt::print("{} of {} are ready to be launched\n", ok, m.rows.size());
    return;
  }
  Table table({{"curve"}, {"x", true}, {"of"}, {"measured", true}, {"unit"}});
  for (const experiments::MicrobenchmarkRow& r : m.rows)
    if (r.y) table.add({r.curve, fmt::format("{:g}", r.x), r.x_unit, fmt::format("{:.4g}", *r.y), r.y_unit});
  table.print();
}

int run_microbenchmarks(MeasureOptions& o) {
  base::Diagnostics diags;
  if (o.measure.timing.repeats == 0)
    diags.error({diags.add_source("--repeats")}, "expected 1 or more: a curve is of times");
  const auto a = o.arch.load_for(&targets::Target::emit, diags);
  if (!diags.ok()) return report(diags);
  o.measure.command = command_line();
  Progress progress("kernels");
  const auto m = experiments::measure_microbenchmarks(
      o.microbench.curves(), *a, o.measure, [&](std::size_t done, std::size_t all) { progress.update(done, all); },
      diags);
  if (!m) {
    report(diags);
    return kFailed;
  }
  report_notes(diags);
  bool every = m->finished;
  for (const experiments::MicrobenchmarkRow& r : m->rows)
    if (!r.error.empty()) {
      every = false;
      fmt::print(stderr, "{}\n", r.error);
    }
  if (!o.csv.empty() && !write_text(m->csv, o.csv)) return kFailed;
  if (o.json)
    print_json(experiments::to_document(m->rows, *a, "measured"));
  else
    print_curves(*m, o.measure.dry_run);
  return every ? kDone : kFailed;
}

int run(MeasureOptions& o) {
  base::Diagnostics diags;
  if (!o.scale.empty() && o.scale != "small")
    diags.error({diags.add_source("--scale")}, fmt::format("expected small, got '{}'", o.scale));
  for (const std::string& name : o.baselines)
    if (const auto b = experiments::baseline_of(name, diags)) o.measure.baselines.push_back(*b);
  const auto a = o.arch.load_for(&targets::Target::emit, diags);
  auto source = o.programs.read(diags);
  if (!diags.ok()) return report(diags);
  source->workload.small = !o.scale.empty();
  source->top = o.top;
  o.measure.command = command_line();
  std::optional<Measurement> m;
  {
    Progress progress("programs");
    m = experiments::measure(
        *source, *a, o.measure, [&](std::size_t done, std::size_t all) { progress.update(done, all); }, diags);
  }
  if (!m) {
    report(diags);
    return kFailed;
  }
  report_notes(diags);
  bool every = m->finished;
  for (const MeasuredRow& r : m->rows)
    for (const std::string& e : r.errors) {
      every = false;
      fmt::print(stderr, "{}\n", e);
    }
  if (o.json)
    print_json(experiments::to_document(*m), diags);
  else
    print_table(*m, o.measure.dry_run);
  return every ? kDone : kFailed;
}

}  // namespace

void add_measure(CLI::App& app, int& status) {
  auto o = std::make_shared<MeasureOptions>();
  CLI::App* command = app.add_subcommand("measure", "Run programs on this machine's GPU: values and times");
  o->arch.add_to(*command);
  o->programs.add_to(*command, ProgramOptions::kBatches);
  CLI::Option* curves = o->microbench.add_to(*command, "What `simulate --microbench` simulates, on the chip");
  command->add_option("-o,--output", o->csv, "Of --microbench: a file that calibrate --microbench reads")
      ->needs(curves)
      ->check(some_text());
  command->add_option("--top", o->top, "How many of the best programs of every operator are measured")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--scale", o->scale, "small: every operator shrunk, all samples are cheap")
      ->excludes(command->get_option("--program"));
  command->add_flag("--cold", o->measure.timing.cold, "Empty the device's cache before every repeat");
  command
      ->add_option("--repeats", o->measure.timing.repeats, "How often every time is measured; 0 compares values alone")
      ->check(whole_number(0, 100'000))
      ->capture_default_str();
  command
      ->add_option("--seconds", o->measure.timing.seconds,
                   "Seconds after which no further repeat of a program is begun")
      ->check(seconds())
      ->capture_default_str();
  command
      ->add_option("--energy", o->measure.timing.energy_seconds,
                   "Seconds for which every program also runs in a loop while the device's energy is read")
      ->check(seconds())
      ->excludes(curves);
  command->add_option("--samples", o->measure.samples, "Elements of each output that are compared with plain loops")
      ->check(whole_number(2, 1'000'000))
      ->capture_default_str();
  command->add_option("--baseline", o->baselines,
                      fmt::format("Also the vendor's: {}", fmt::join(experiments::baseline_names(), ", ")));
  command
      ->add_option("--rows", o->measure.rows, "JSON lines: rows are added as they come, what is there is not measured")
      ->check(some_text());
  command->add_option("--plan", o->measure.plan, "A folder that keeps the plan and its code, for tilescope_gpu")
      ->check(some_text());
  command->add_flag("--dry-run", o->measure.dry_run, "Do all up to the launch; needs no GPU");
  add_jobs(*command, o->measure.jobs);
  add_json(*command, o->json);
  command->callback([o, &status] {
    if (o->microbench.given()) {
      status = run_microbenchmarks(*o);
      return;
    }
    o->programs.require_one();
    status = run(*o);
  });
}

}  // namespace tilescope::cli
