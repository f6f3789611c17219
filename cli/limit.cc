// SPDX-License-Identifier: Apache-2.0
// tilescope limit: the clock and the time that a board's power limit leaves to a program that was measured without one.

#include "api/limit.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/table.h"

namespace tilescope::cli {
namespace {

struct LimitOptions {
  ArchOptions arch;
  api::LimitQuestion question;
  double limit_w = 0;
  bool json = false;
};

int run(const LimitOptions& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load(diags);
  if (!a) return report(diags);
  const auto row = api::clock_at_limit(o.question, *a, diags);
  if (!row) return report(diags);
  report_notes(diags);
  if (o.json)
    print_json(api::to_entries(*row), diags);
  else
    fmt::print("{} keeps to {:g} W at {:.0f} MHz: {}, {:.1f} W\n", a->name, row->limit_w, row->clock_mhz,
               time_text(row->time_us), row->power_w);
  return kDone;
}

}  // namespace

void add_limit(CLI::App& app, int& status) {
  auto o = std::make_shared<LimitOptions>();
  CLI::App* command =
      app.add_subcommand("limit", "The clock and the time that a power limit leaves to a measured program");
  o->arch.add_to(*command);
  api::LimitQuestion& q = o->question;
  command->add_option("--time", q.time_us, "Its time in us, measured where no limit held the board down")
      ->required()
      ->check(CLI::PositiveNumber);
  command->add_option("--power", q.power_w, "Power of the board meanwhile, W")->required()->check(CLI::PositiveNumber);
  command->add_option("--clock", q.clock_mhz, "Clock of the cores meanwhile, MHz")
      ->required()
      ->check(CLI::PositiveNumber);
  command->add_option("--clocked", q.clocked, "Share of the time that goes with that clock; memory takes the rest")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  CLI::Option* limit =
      command->add_option("--limit", o->limit_w, "Power limit, W; the chip's where absent")->check(CLI::PositiveNumber);
  add_json(*command, o->json);
  command->callback([o, limit, &status] {
    if (limit->count() > 0) o->question.limit_w = o->limit_w;
    status = run(*o);
  });
}

}  // namespace tilescope::cli
