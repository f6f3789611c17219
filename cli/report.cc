// SPDX-License-Identifier: Apache-2.0
// tilescope report: a sweep, or a network's times, as one HTML file that a browser opens.

#include "experiments/report/report.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "api/simulate/code_version.h"
#include "cli/command.h"
#include "cli/stored_sweep.h"
#include "cli/usage.h"
#include "experiments/report/network.h"
#include "experiments/report/sensitivity.h"

namespace tilescope::cli {
namespace {

struct ReportOptions {
  StoredSweepOptions sweep;
  std::string out;
  std::vector<std::string> sensitivities;
  bool json = false;
};

// Whatever else is named, the store before all, is no place for a page.
bool is_place_for_page(const std::string& file, base::Diagnostics& diags) {
  if (file.ends_with(".html")) return true;
  diags.error({diags.add_source("-o " + file)}, "expected a file that ends in .html");
  return false;
}

std::optional<base::Value> document_of(const ReportOptions& o, base::Diagnostics& diags) {
  const std::string& source = o.sweep.store;
  if (experiments::is_network_document(source)) {
    const std::string misplaced = !o.sweep.title.empty()     ? "--sweep " + o.sweep.title
                                  : !o.sensitivities.empty() ? "--sensitivity " + o.sensitivities.front()
                                                             : std::string();
    if (misplaced.empty()) return experiments::network_report(source, api::version(), diags);
    diags.error({diags.add_source(misplaced)}, source + " is no store of sweeps");
    return std::nullopt;
  }
  const auto store = experiments::Store::open(source, diags);
  const auto sweep = store ? chosen_sweep(*store, o.sweep, diags) : std::nullopt;
  auto sensitivities = sweep ? experiments::sensitivities_of(o.sensitivities, *sweep, diags) : std::nullopt;
  if (!sensitivities) return std::nullopt;
  return experiments::report_document(*store, *sweep, source, api::version(), *std::move(sensitivities));
}

int run(const ReportOptions& o) {
  base::Diagnostics diags;
  if (!o.json && !is_place_for_page(o.out, diags)) return report(diags);
  const std::string page = experiments::report_template_path();
  if (const auto why = o.json ? std::nullopt : experiments::why_no_template(page)) {
    fmt::print(stderr, "{}\n", *why);
    return kFailed;
  }
  const auto document = document_of(o, diags);
  if (!document) return report(diags);
  if (o.json) {
    print_json(*document);
    return kDone;
  }
  constexpr double kMega = 1e6;
  const std::size_t bytes = experiments::write_report(*document, page, o.out);
  fmt::print("{}: {:.1f} MB, opens in any browser\n", o.out, static_cast<double>(bytes) / kMega);
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto o = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Write a sweep, or a network's times, as one HTML file that a browser opens");
  o->sweep.add_to(*command);
  command->get_option("STORE")->description(
      "The store of a sweep, or a network's times: network.json, as network --arch A -o DIR writes it");
  auto* out = command->add_option("-o,--output", o->out, "The file to write: .html")->check(some_text());
  command
      ->add_option("--sensitivity", o->sensitivities,
                   "What `sensitivity --json` has printed of the same sweep, for the page; once for each objective")
      ->allow_extra_args(false)
      ->check(some_text());
  add_json(*command, o->json)->excludes(out);
  command->callback([o, &status] {
    if (o->out.empty() && !o->json) throw CLI::RequiredError("-o");
    status = run(*o);
  });
}

}  // namespace tilescope::cli
