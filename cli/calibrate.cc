// SPDX-License-Identifier: Apache-2.0
// tilescope calibrate: a chip's calibration from measured programs, with error bands, or from microbenchmarks.

#include "experiments/accuracy/calibrate.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "api/simulate/code_version.h"
#include "cli/command.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

using api::ErrorStatistics;
using experiments::CalibratedRatio;
using experiments::CalibrationMethod;
using experiments::CalibrationRun;

struct CalibrateOptions {
  ArchOptions arch;
  std::string batch, microbench, out;
  experiments::CalibrateOptions calibrate;
  bool json = false;
};

void print_ratios(const CalibrationRun& run) {
  const bool fitted = run.method == CalibrationMethod::kFit;
  Table table({{"ratio"},
               {"before", true},
               {"after", true},
               {fitted ? "std error" : "spread", true},
               {fitted ? "response" : "from", fitted},
               {"left as it was"}});
  for (const CalibratedRatio& r : run.ratios)
    table.add({r.name, fmt::format("{:.3f}", r.before), r.identified ? fmt::format("{:.3f}", r.after) : "",
               r.error_ratio ? share_text(*r.error_ratio) : "",
               r.response_ratio ? fmt::format("{:.3f}", *r.response_ratio) : r.source, r.why});
  table.print();
}

void print_bands(const CalibrationRun& run) {
  if (run.bands.empty()) return;
  fmt::print("\n80 % interval of measured over predicted time, {}\n",
             run.any() ? "held out" : "with the ratios as they are");
  const bool checked = run.bands.front().check.has_value();
  std::vector<Column> columns{{"kind"}, {"rows", true}, {"shapes", true}, {"low", true}, {"high", true}};
  if (checked) columns.insert(columns.end(), {{"other rows", true}, {"shapes", true}, {"within", true}});
  Table table(columns);
  for (const experiments::BandOfKind& b : run.bands) {
    std::vector<std::string> row{b.kind, std::to_string(b.rows), std::to_string(b.shapes), fmt::format("{:.3f}", b.low),
                                 fmt::format("{:.3f}", b.high)};
    if (checked)
      row.insert(row.end(),
                 {std::to_string(b.check->rows), std::to_string(b.check->shapes), share_text(b.check->coverage)});
    table.add(row);
  }
  table.print();
}

void print_held_out(const CalibrationRun& run) {
  if (run.folds == 0) {
    fmt::print("\none shape: none to hold out\n");
    return;
  }
  fmt::print("\nheld out: {} shapes in {} folds, seed {}\n", run.shapes, run.folds, run.seed);
  Table table({{"kind"},
               {"rows", true},
               {"mean |error| before", true},
               {"after", true},
               {"median before", true},
               {"after", true},
               {"mean before", true},
               {"after", true}});
  for (const experiments::HeldOut& h : run.held_out) {
    const ErrorStatistics &b = h.before, &a = h.after;
    table.add({h.kind, std::to_string(b.compared), share_text(b.mape_ratio), share_text(a.mape_ratio),
               share_text(b.median_error_ratio), share_text(a.median_error_ratio), percent_text(b.bias_ratio),
               percent_text(a.bias_ratio)});
  }
  table.print();
}

// What the run is about, in one line.
std::string heading(const CalibrationRun& c, const std::string& chip) {
  if (c.method == CalibrationMethod::kMicrobenchmarks)
    return fmt::format("{} on {}: {} points, {} refused", c.file, chip, c.rows, c.refused.size());
  return fmt::format("{} on {}: {} rows of {} groups {}, {} refused{}", c.file, chip, c.rows, c.groups,
                     c.method == CalibrationMethod::kFit ? "fitted" : "compared", c.refused.size(),
                     c.left_out > 0 ? fmt::format(", {} left out", c.left_out) : "");
}

void print(const CalibrationRun& c, const std::string& chip) {
  fmt::print("{}\n", heading(c, chip));
  if (c.method != CalibrationMethod::kBandsOnly) print_ratios(c);
  if (c.method == CalibrationMethod::kFit) print_held_out(c);
  print_bands(c);
}

// Why there is no file.
std::string_view nothing_found(const CalibrationRun& c) {
  if (c.rows == 0)
    return c.method == CalibrationMethod::kMicrobenchmarks ? "no point of the chip" : "no row to learn from";
  return c.method == CalibrationMethod::kBandsOnly ? "too few shapes for an error band" : "identifies no ratio";
}

CalibrationRun calibrate(const CalibrateOptions& o, const api::NamedText& file, const arch::ArchSpec& a) {
  if (!o.microbench.empty()) return experiments::calibrate_by_microbenchmarks(file, a);
  Progress progress("fits");
  return experiments::calibrate(file, a, o.calibrate,
                                [&](std::size_t done, std::size_t all) { progress.update(done, all); });
}

int run(const CalibrateOptions& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load_for(&targets::Target::estimate, diags);
  const auto file = read_batch(o.microbench.empty() ? o.batch : o.microbench, diags);
  std::error_code failed;
  if (std::filesystem::equivalent(o.arch.name(), o.out, failed))
    diags.error({diags.add_source("-o " + o.out)}, "is the chip that is calibrated; write another file");
  if (!a || !file || !diags.ok()) return report(diags);
  report_notes(diags);
  const CalibrationRun c = calibrate(o, *file, *a);
  for (const std::string& e : c.refused) fmt::print(stderr, "{}\n", e);
  if (c.says_something())
    experiments::write_chip(experiments::calibrated_chip(c, *a, o.arch.name(), o.out, api::version()), o.out);
  if (c.rows > 0 && o.json) print_json(experiments::to_document(c));
  if (c.rows > 0 && !o.json) print(c, a->name);
  if (!c.says_something()) {
    fmt::print(stderr, "{}: {}; {} is not written\n", c.file, nothing_found(c), o.out);
    return c.rows == 0 ? kBadInput : kFailed;
  }
  if (!c.any() && c.method == CalibrationMethod::kFit)
    fmt::print(stderr, "{}: identifies no ratio; {} has error bands alone\n", c.file, o.out);
  return c.refused.empty() ? kDone : kBadInput;
}

}  // namespace

void add_calibrate(CLI::App& app, int& status) {
  auto o = std::make_shared<CalibrateOptions>();
  CLI::App* command = app.add_subcommand(
      "calibrate", "A chip's calibration from measured programs, with error bands, or from microbenchmarks");
  o->arch.add_to(*command, ArchOptions::kAsItIs);
  CLI::Option* batch = add_measured_batch(*command, o->batch);
  CLI::Option* microbench = command
                                ->add_option("--microbench", o->microbench,
                                             "Curves of microbenchmarks: chip,curve,x,unit,measured,board,source")
                                ->check(some_text())
                                ->excludes(batch);
  command->add_option("-o", o->out, "The chip's file to write, which extends the chip")->required()->check(some_text());
  // What is about programs.
  CLI::Option* seed = command->add_option("--seed", o->calibrate.seed,
                                          "What the chance of drawing held-out shapes begins with; 1 by default. With "
                                          "--bands-only: fit bands to half of the shapes, check them on the others");
  CLI::Option* bands_only = command->add_flag("--bands-only", o->calibrate.bands_only,
                                              "Error bands of the ratios as they are; nothing is fitted");
  microbench->excludes(seed)->excludes(bands_only);
  for (CLI::Option* option : add_program_filter(*command, o->calibrate.programs)) microbench->excludes(option);
  add_jobs(*command, o->calibrate.jobs);
  add_json(*command, o->json);
  command->callback([o, batch, microbench, seed, &status] {
    if (batch->empty() && microbench->empty()) throw CLI::RequiredError("--batch or --microbench");
    o->calibrate.check_bands = o->calibrate.bands_only && !seed->empty();
    status = run(*o);
  });
}

}  // namespace tilescope::cli
