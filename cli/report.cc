// SPDX-License-Identifier: Apache-2.0
// tilescope report: a sweep as one HTML file that a browser opens.

#include "experiments/report/report.h"

#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/stored_sweep.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct Options {
  StoredSweepOptions sweep;
  std::string out;
  bool json = false;
};

// Whatever else is named, the store before all, is no place for a page.
bool is_place_for_page(const std::string& file, base::Diagnostics& diags) {
  if (file.ends_with(".html")) return true;
  diags.error({diags.add_source("-o " + file)}, "expected a file that ends in .html");
  return false;
}

int run(const Options& o) {
  base::Diagnostics diags;
  if (!o.json && !is_place_for_page(o.out, diags)) return report(diags);
  const std::string page = experiments::report_template_path();
  if (const auto why = o.json ? std::nullopt : experiments::why_no_template(page)) {
    fmt::print(stderr, "{}\n", *why);
    return kFailed;
  }
  const auto store = experiments::Store::open(o.sweep.store, diags);
  if (!store) return report(diags);
  const auto sweep = chosen_sweep(*store, o.sweep, diags);
  if (!sweep) return report(diags);
  const base::Value document = experiments::report_document(*store, *sweep, o.sweep.store, TILESCOPE_VERSION);
  if (o.json) {
    print_json(document);
    return kDone;
  }
  constexpr double kMega = 1e6;
  const std::size_t bytes = experiments::write_report(document, page, o.out);
  fmt::print("{}: {:.1f} MB, opens in any browser\n", o.out, static_cast<double>(bytes) / kMega);
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "Write a sweep as one HTML file that a browser opens");
  o->sweep.add_to(*command);
  auto* out = command->add_option("-o,--output", o->out, "The file to write: .html")->check(some_text());
  add_json(*command, o->json)->excludes(out);
  command->callback([o, &status] {
    if (o->out.empty() && !o->json) throw CLI::RequiredError("-o");
    status = run(*o);
  });
}

}  // namespace tilescope::cli
