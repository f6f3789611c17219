// SPDX-License-Identifier: Apache-2.0
// tilescope diff: how two chips differ.

#include "api/diff.h"

#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct Options {
  std::string left, right;
  bool derived = false, json = false;
};

std::string text_of(const base::Value& v) {
  if (v.is_null()) return "-";
  const auto* text = v.get_if<std::string>();
  return text == nullptr ? base::to_json(v) : *text;
}

int diff(const Options& o) {
  base::Diagnostics diags;
  const auto left = arch::load_arch(o.left, {}, diags), right = arch::load_arch(o.right, {}, diags);
  if (!diags.ok()) return report(diags);
  const std::vector<api::ChipDifference> differences = api::differences_of(*left, *right);
  if (o.json) {
    print_json(api::to_document(differences, *left, *right), diags);
    return kDone;
  }
  Table table({{"path"}, {left->name, true}, {right->name, true}});
  std::size_t hidden = 0;
  for (const api::ChipDifference& d : differences) {
    if (d.derived && !o.derived)
      ++hidden;
    else
      table.add({d.path, text_of(d.left), text_of(d.right)});
  }
  table.print();
  fmt::print("\n{} values differ", differences.size() - hidden);
  if (hidden > 0) fmt::print(", and {} that follow from them (--derived)", hidden);
  fmt::print("\n");
  return kDone;
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("diff", "How two chips differ, value by value");
  command->add_option("LEFT", o->left, "A device name (arch list) or a YAML file")->required()->check(some_text());
  command->add_option("RIGHT", o->right, "The chip that it is compared with")->required()->check(some_text());
  command->add_flag("--derived", o->derived, "Also values that follow from others, such as peaks");
  add_json(*command, o->json);
  command->callback([o, &status] { status = diff(*o); });
}

}  // namespace tilescope::cli
