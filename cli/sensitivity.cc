// SPDX-License-Identifier: Apache-2.0
// tilescope sensitivity: which axes of a sweep an objective depends on.

#include "experiments/sweep/sensitivity.h"

#include <filesystem>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "api/simulate/code_version.h"
#include "cli/command.h"
#include "cli/legend.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct Options {
  experiments::SensitivityRequest request;
  bool json = false, legend = false;
};

// A store that nothing else uses, which goes with this object.
class OwnStore {
 public:
  OwnStore() : path_(std::filesystem::temp_directory_path() / fmt::format("tilescope_sensitivity_{}.db", getpid())) {
    remove();
  }
  ~OwnStore() { remove(); }
  OwnStore(const OwnStore&) = delete;
  OwnStore& operator=(const OwnStore&) = delete;

  std::string path() const { return path_.string(); }

 private:
  void remove() const {
    std::error_code none;
    for (const char* end : {"", "-lock", "-wal", "-shm"}) std::filesystem::remove(path_.string() + end, none);
  }

  std::filesystem::path path_;
};

std::string index_text(double index, const experiments::Interval& interval) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", index, interval.low, interval.high);
}

void print(const experiments::Sensitivity& s) {
  const std::string unit = s.objective.unit.empty() ? "" : " " + s.objective.unit;
  fmt::print("{}: {:.4g}{} in the mean of {} rows, standard deviation {:.3g}; {} points judged{}\n", s.objective.name,
             s.mean, unit, s.rows - s.lost, s.deviation, s.points,
             s.lost > 0 ? fmt::format("; {} rows have a point without a value and are left out", s.lost) : "");
  fmt::print("elasticities at {}\n", s.centre);
  Table table({{"axis"},
               {"axis values", true},
               {"elasticity", true},
               {"between", false, 1},
               {"first order", true},
               {"total order", true},
               {"interactions", true}});
  for (const experiments::AxisSensitivity& a : s.axes)
    table.add({a.axis, fmt::format("{}", a.values), a.elasticity ? fmt::format("{:+.3f}", *a.elasticity) : "-",
               a.elasticity ? fmt::format("{} and {}", a.from, a.to) : "-",
               index_text(a.index.first, a.index.first_interval), index_text(a.index.total, a.index.total_interval),
               fmt::format("{:.2f}", std::max(0.0, a.index.total - a.index.first))});
  table.print();
}

int run(Options o) {
  base::Diagnostics diags;
  std::optional<OwnStore> own;
  if (o.request.sweep.store.empty()) o.request.sweep.store = own.emplace().path();
  std::optional<Progress> progress;  // begins with its first row
  const auto done = experiments::sensitivity(
      o.request, [] { return false; },
      [&](const experiments::SweepProgress& p) {
        if (!progress) progress.emplace("points");
        progress->update(p.points_done, p.points_all, {}, p.points_known);
      },
      diags);
  progress.reset();
  if (!done) return report(diags);
  report_notes(diags);
  if (o.json) {
    print_json(experiments::to_document(*done), diags);
  } else {
    print(*done);
    print_legend(o.legend);
  }
  return done->axes.empty() || done->run.state.rows_failed > 0 ? kFailed : kDone;
}

}  // namespace

void add_sensitivity(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  experiments::SensitivityRequest& r = o->request;
  r.sweep.tool_version = api::tool_version();
  CLI::App* command = app.add_subcommand("sensitivity", "Which axes of a sweep an objective depends on");
  command->add_option("SPEC", r.sweep.file, "The sweep's file, YAML (docs/sweep.md)")->required()->check(some_text());
  command
      ->add_option("--objective", r.objective,
                   "One of the file's objectives by name, or an expression over results: energy, 'time * price'")
      ->required()
      ->check(some_text());
  command
      ->add_option("--samples", r.samples,
                   "Rows of each kind in Saltelli's design; with n axes it has n + 2 points a row, each judged once")
      ->check(whole_number(2, 100'000))
      ->capture_default_str();
  command->add_option("--seed", r.seed, "Of the design")->check(whole_number(0, 1'000'000))->capture_default_str();
  command->add_option("--store", r.sweep.store, "Where rows are kept and found again; nowhere where it is absent")
      ->check(some_text());
  add_jobs(*command, r.sweep.jobs);
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli
