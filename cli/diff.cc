// SPDX-License-Identifier: Apache-2.0
// tilescope diff: how two chips differ, in their numbers, in what they cost, and in their times for a workload.

#include "api/diff.h"

#include <cstddef>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "api/network/diff.h"
#include "cli/command.h"
#include "cli/diff_tables.h"
#include "cli/legend.h"
#include "cli/overrides.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct DiffOptions {
  std::string left, right;
  std::vector<std::string> sets;
  bool derived = false, area = false, price = false, json = false, legend = false;
  api::Workload workload;
  api::NetworkSource network;
  std::string fuse;
  int jobs = 0;

  bool has_work() const { return workload.suite || !workload.op.empty() || !network.name.empty(); }
  std::string work() const {
    return !network.name.empty() ? network.name : workload.suite ? *workload.suite : workload.op;
  }
};

std::string text_of(const base::Value& v) {
  if (v.is_null()) return "-";
  const auto* text = v.get_if<std::string>();
  return text == nullptr ? base::to_json(v) : *text;
}

// Sentences of a file, such as sources, would be wider than a screen; --json has all of them.
std::string beginning_of(const std::string& text) {
  constexpr std::size_t kMost = 40;
  if (text.size() <= kMost) return text;
  std::size_t end = kMost - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // within a character of UTF-8
  return text.substr(0, end) + "...";
}

void print_numbers(const std::vector<api::ChipDifference>& differences, const Sides& chips, bool derived) {
  Table table({{"path"}, {chips.left, true}, {chips.right, true}});
  std::size_t hidden = 0;
  for (const api::ChipDifference& d : differences) {
    if (d.derived && !derived)
      ++hidden;
    else
      table.add({d.path, beginning_of(text_of(d.left)), beginning_of(text_of(d.right))});
  }
  table.print();
  fmt::print("\n{} values differ", differences.size() - hidden);
  if (hidden > 0) fmt::print(", and {} that follow from them (--derived)", hidden);
  fmt::print("\n");
}

std::optional<api::WorkDifference> diff_work(const DiffOptions& o, const arch::ArchSpec& left,
                                             const arch::ArchSpec& right, base::Diagnostics& diags) {
  Phases phases;
  if (o.network.name.empty())
    return api::diff_workload(o.workload, left, right, o.jobs, phases.phase("operators"), diags);
  api::NetworkDiffHow how;
  how.fuse = fuse_of(o.fuse);
  how.jobs = o.jobs;
  how.left = phases.phase("nodes on " + left.name);
  how.right = phases.phase("nodes on the right chip");
  return api::diff_network(o.network, left, right, how, diags);
}

int diff(const DiffOptions& o) {
  base::Diagnostics diags;
  if (o.right.empty() && o.sets.empty())
    diags.error({}, "expected a second chip, or --set path=value for the first one changed");
  const auto left = arch::load_arch(o.left, {}, diags);
  const auto right = arch::load_arch(o.right.empty() ? o.left : o.right, read_overrides(o.sets, diags), diags);
  if (!diags.ok()) return report(diags);
  std::optional<api::WorkDifference> work;
  if (o.has_work()) {
    work = diff_work(o, *left, *right, diags);
    if (!work) return report(diags);
  }
  const std::vector<api::ChipDifference> differences = api::differences_of(*left, *right);
  const bool area = o.area || o.has_work(), price = o.price || o.has_work();
  const int status = work && work->time.without_time > 0 ? kFailed : kDone;
  if (o.json) {
    base::Value document = api::to_document(differences, *left, *right);
    auto& map = *document.get_if<base::Map>();
    if (work) {
      map.push_back({"work", o.work()});
      map.push_back({"time", base::to_entries(work->time)});
      map.push_back({"energy", api::to_document(work->energy)});
    }
    if (area) map.push_back({"area", api::to_document(api::area_difference(*left, *right))});
    if (price) map.push_back({"price", api::to_document(api::price_difference(*left, *right))});
    print_json(std::move(document), diags);
    return status;
  }
  report_notes(diags);
  const Sides chips{left->name, left->name == right->name ? right->name + " changed" : right->name};
  print_numbers(differences, chips, o.derived);
  if (work) {
    print_time(work->time, o.work(), chips);
    print_cost("energy", work->energy, chips);
  }
  if (area) print_cost("area", api::area_difference(*left, *right), chips);
  if (price) print_cost("price", api::price_difference(*left, *right), chips);
  print_legend(o.legend);
  return status;
}

void add_work(CLI::App& command, const std::shared_ptr<DiffOptions>& o) {
  CLI::Option* network =
      command.add_option("--network", o->network.name, "Times of a network, by its name (network list) or file")
          ->check(some_text());
  CLI::Option* suite =
      command
          .add_option("--suite", o->workload.suite, "Times of a suite's operators, by its name (suite list) or file")
          ->check(some_text())
          ->excludes(network);
  command.add_option("--op", o->workload.op, "Times of one operator in index notation")
      ->excludes(network)
      ->excludes(suite);
  command.add_option_function<std::string>(
      "--size", [o](const std::string& text) { o->workload.sizes = o->network.sizes = text; },
      "Values of variables of --network or --suite, or ranges of the axes of --op: batch=8,seq=512");
  command
      .add_option_function<std::string>(
          "--dtype", [o](const std::string& text) { o->workload.dtype = o->network.dtype = text; },
          "Element type: of a network's real numbers, of operators that state none")
      ->check(some_text());
  command.add_option("--pass", o->network.passes, "Simplifications of --network, as network --pass takes them")
      ->needs(network);
  add_fuse(command, o->fuse);
  command.get_option("--fuse")->needs(network);
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
  auto o = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "How two chips differ: numbers, costs, and times of a workload");
  command->add_option("LEFT", o->left, "A device name (arch list) or a YAML file")->required()->check(some_text());
  command->add_option("RIGHT", o->right, "The chip that it is compared with; LEFT where it is absent")
      ->check(some_text());
  command->add_option("--set", o->sets, "path=value: override RIGHT by its YAML's own paths; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--derived", o->derived, "Also values that follow from others, such as peaks");
  command->add_flag("--area", o->area, "Also the areas of the dies by part; always with times");
  command->add_flag("--price", o->price, "Also the prices by part; always with times");
  add_work(*command, o);
  add_jobs(*command, o->jobs);
  add_json(*command, o->json);
  add_legend(*command, o->legend);
  command->callback([o, command, &status] {
    for (const char* of_work : {"--size", "--dtype"})
      if (!o->has_work() && command->count(of_work) > 0)
        throw CLI::RequiresError(of_work, "one of --op, --suite and --network");
    status = diff(*o);
  });
}

}  // namespace tilescope::cli
