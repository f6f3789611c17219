// SPDX-License-Identifier: Apache-2.0
// tilescope sensitivity: which axes of a sweep an objective depends on.

#include "experiments/sweep/sensitivity.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "api/simulate/code_version.h"
#include "cli/bars.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/legend.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct SensitivityOptions {
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

// The objective where one axis has other values than the centre, the widest first.
void print_tornado(const experiments::Sensitivity& s, const std::string& unit) {
  struct Swing {
    const experiments::AxisSensitivity* axis;
    experiments::AxisSensitivity::End low, high;
  };
  std::vector<Swing> swings;
  for (const experiments::AxisSensitivity& a : s.axes) {
    const auto [low, high] = std::minmax_element(
        a.ends.begin(), a.ends.end(), [](const auto& x, const auto& y) { return x.objective < y.objective; });
    if (a.ends.size() > 1) swings.push_back({&a, *low, *high});
  }
  if (!s.at_centre || swings.empty()) return;
  std::stable_sort(swings.begin(), swings.end(), [](const Swing& x, const Swing& y) {
    return x.high.objective - x.low.objective > y.high.objective - y.low.objective;
  });
  std::vector<double> off;
  for (const Swing& w : swings)
    off.insert(off.end(), {w.low.objective - *s.at_centre, w.high.objective - *s.at_centre});
  constexpr std::size_t kBar = 40;
  const BarScale scale(off, kBar);
  fmt::print("\n{:.4g}{} there; where one axis has another value:\n", *s.at_centre, unit);
  Table table({{"axis"}, {"lowest", true}, {"at", false, 1}, {"highest", true}, {"at", false, 1}, {"tornado"}});
  for (const Swing& w : swings)
    table.add({w.axis->axis, fmt::format("{:.4g}{}", w.low.objective, unit), w.low.value,
               fmt::format("{:.4g}{}", w.high.objective, unit), w.high.value,
               scale.bar_at_zero(w.low.objective - *s.at_centre, w.high.objective - *s.at_centre, '=')});
  table.print();
}

void print_pairs(const experiments::Sensitivity& s) {
  if (s.axes.size() > 1 && s.pairs.empty()) fmt::print("\nno pair of axes interacts beyond doubt\n");
  if (!s.pairs.empty())
    fmt::print("\npairs that interact, with the share of the variance in which both have a part:\n");
  for (const experiments::AxisPair& p : s.pairs) {
    fmt::print("{} and {}: {}", p.first, p.second, index_text(p.index, p.interval));
    if (!p.axis.empty())
      fmt::print("; {} of the effect of {} lies at {}, {} of the rows", share_text(p.effect), p.axis, p.where,
                 share_text(p.rows));
    fmt::print("\n");
  }
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
  print_pairs(s);
  print_tornado(s, unit);
}

int run(SensitivityOptions o) {
  base::Diagnostics diags;
  std::optional<OwnStore> own;
  if (o.request.sweep.store.empty()) o.request.sweep.store = own.emplace().path();
  std::optional<Progress> progress;  // begins with its first row
  const std::string ended =
      own ? "ended; nothing is kept without --store"
          : fmt::format("ended; {} keeps what is computed, and the same command goes on from there",
                        o.request.sweep.store);
  end_in_good_order();
  o.request.sweep.overdue = [&](const experiments::SweepRun&) {
    progress.reset();
    own.reset();
    fmt::print(stderr, "{}\n", ended);
    end_at_once();
  };
  std::optional<experiments::Sensitivity> done;
  {
    EndsWhilePlanned planning(ended);
    done = experiments::sensitivity(
        o.request, interrupted,
        [&](const experiments::SweepProgress& p) {
          planning.planned();
          if (!progress) progress.emplace("rows");
          progress->update(p.done, p.all, p.seconds_left, fmt::format("{} of {} points", p.points_done, p.points_all),
                           p.known);
        },
        diags);
  }
  progress.reset();
  if (interrupted()) {
    fmt::print(stderr, "{}\n", ended);
    return kFailed;
  }
  if (!done) return report(diags);
  report_notes(diags);
  if (o.json) {
    print_json(experiments::to_document(*done), diags);
  } else {
    print(*done);
    print_legend(o.legend);
  }
  for (const std::string& lost : done->run.lost) fmt::print(stderr, "{}; the row is not kept\n", lost);
  return done->axes.empty() || done->run.stopped || done->run.state.rows_failed > 0 ? kFailed : kDone;
}

}  // namespace

void add_sensitivity(CLI::App& app, int& status) {
  auto o = std::make_shared<SensitivityOptions>();
  experiments::SensitivityRequest& r = o->request;
  r.sweep.tool_version = api::tool_version();
  CLI::App* command = app.add_subcommand("sensitivity", "Which axes of a sweep an objective depends on");
  command->add_option("SPEC", r.sweep.file, "The sweep's file, YAML (docs/exploring.md)")
      ->required()
      ->check(some_text());
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
