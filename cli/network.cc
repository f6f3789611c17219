// SPDX-License-Identifier: Apache-2.0
// tilescope network: what networks there are, what one computes, and whether values of an ONNX file are right.

#include "api/network/network.h"

#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/network/drawing.h"
#include "api/network/figures.h"
#include "api/network/times.h"
#include "api/simulate/code_version.h"
#include "cli/command.h"
#include "cli/legend.h"
#include "cli/network_picture.h"
#include "cli/network_table.h"
#include "cli/network_times.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

constexpr const char* kStreamGaps = "stream";

struct NetworkOptions {
  api::NetworkSource source;
  std::string values, svg, fuse, gaps, log, folder, table;
  ArchOptions arch;
  int jobs = 0;
  bool nodes = false, simulate = false, json = false, legend = false;
};

std::string billions(double n) { return fmt::format("{:.4g}", 1e-9 * n); }

void print_nodes(const api::NetworkFigures& f) {
  Table table({{"node"}, {"kind"}, {"shape"}, {"GFLOP", true}, {"MB", true}, {"operator"}});
  for (const api::NetworkNodeRow& n : f.nodes)
    table.add({n.name, n.kind, n.shape, billions(n.operations), fmt::format("{:.4g}", 1e-6 * n.bytes),
               !n.why.empty() ? "opaque: " + n.why
               : n.op.empty() ? "a view"
                              : n.op});
  table.print();
}

std::string text_of(const std::vector<api::NetworkSize>& sizes) {
  std::vector<std::string> words;
  for (const auto& [name, value] : sizes) words.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(words, " "));
}

int list(const NetworkOptions& o) {
  Table table({{"network"}, {"parameters M", true}, {"GMACs", true}, {"sizes"}, {"about"}});
  std::vector<api::NetworkFigures> rows;
  int status = kDone;
  for (const std::string_view name : api::network_names()) {
    base::Diagnostics diags;
    const auto figures = api::figures_of_network({std::string(name)}, false, diags);
    if (!figures) {
      status = report(diags);
      continue;
    }
    rows.push_back(*figures);
    const api::NetworkFigures& f = rows.back();
    table.add({f.name, fmt::format("{:.2f}", 1e-6 * f.parameters), fmt::format("{:.4g}", 1e-9 * f.macs),
               text_of(f.sizes), f.about});
  }
  if (o.json)
    print_json(base::Map{{"networks", base::to_list(rows)}});
  else
    table.print();
  return status;
}

void print_figures(const api::NetworkFigures& f) {
  if (!f.about.empty()) fmt::print("{}: {}\n", f.name, f.about);
  if (!f.sizes.empty()) fmt::print("{}\n", text_of(f.sizes));
  fmt::print(
      "{:.2f} M parameters, {:.4g} GMACs, {:.2f} M activations; {:.4g} MB of weights, largest activation {:.4g} MB\n\n",
      1e-6 * f.parameters, 1e-9 * f.macs, 1e-6 * f.activations, 1e-6 * f.weight_bytes, 1e-6 * f.largest_bytes);
  Table table({{"kind"}, {"nodes", true}, {"GMACs", true}, {"GFLOP", true}, {"MB", true}, {"without stages because"}});
  for (const api::NetworkKindRow& k : f.kinds)
    table.add({k.kind, fmt::format("{}", k.nodes), billions(k.macs), billions(k.operations),
               fmt::format("{:.4g}", 1e-6 * k.bytes), k.why});
  table.print();
}

int show(const NetworkOptions& o) {
  base::Diagnostics diags;
  if (!o.svg.empty()) {
    const auto drawing = api::drawing_of_network(o.source, diags);
    if (!drawing || !diags.ok()) return report(diags);
    const experiments::Svg picture = picture_of(o.source.name, *drawing);
    if (o.svg == "-")
      fmt::print("{}", picture.str());
    else
      picture.save(o.svg);
    return kDone;
  }
  const auto figures = api::figures_of_network(o.source, o.nodes || o.json, diags);
  if (!figures || !diags.ok()) return report(diags);
  if (o.json)
    print_json(base::to_entries(*figures));
  else if (o.nodes)
    print_nodes(*figures);
  else
    print_figures(*figures);
  if (!o.json) print_legend(o.legend);
  return kDone;
}

int check_values(const NetworkOptions& o) {
  base::Diagnostics diags;
  const auto checked = api::check_network_values(o.source.name, o.values, diags);
  if (!checked) return report(diags);
  bool right = true;
  for (const api::NetworkValuesRow& r : checked->outputs) right = right && r.right;
  if (o.json) {
    print_json(base::to_entries(*checked));
  } else {
    Table table({{"output"}, {"shape"}, {"largest error", true}, {"values"}});
    for (const api::NetworkValuesRow& r : checked->outputs)
      table.add({r.output, r.shape, r.largest_error ? fmt::format("{:.1e}", *r.largest_error) : "",
                 r.right ? "right" : "wrong: " + r.why});
    table.print();
  }
  return right ? kDone : kFailed;
}

// The chip of --arch, whose kernels follow one another as --gaps says; nullopt after errors.
std::optional<arch::ArchSpec> load_chip(const NetworkOptions& o, base::Diagnostics& diags) {
  auto a = o.arch.load_for(&targets::Target::estimate, diags);
  if (!a || o.gaps == kStreamGaps) return a;
  if (!a->graph_launch_overhead) {
    diags.error({diags.add_source("--gaps " + o.gaps)},
                fmt::format("{} does not say how long graphs take from one kernel to the next; add it, as by --set "
                            "graph_launch_overhead='1 us'",
                            a->name));
    return std::nullopt;
  }
  a->launch_overhead = *a->graph_launch_overhead;
  return a;
}

int time(const NetworkOptions& o) {
  base::Diagnostics diags;
  const auto a = load_chip(o, diags);
  if (!a) return report(diags);
  if (!o.table.empty())
    return write_network_table(o.source, *a, {fuse_of(o.fuse), o.jobs, o.log, {}},
                               {o.table, o.folder, o.json, o.legend}, diags);
  Phases phases;
  api::NetworkHow how;
  how.fuse = fuse_of(o.fuse);
  how.jobs = o.jobs;
  how.log = o.log;
  how.constructing = phases.phase("nodes");
  how.simulating = phases.phase("runs of kernels");
  if (o.simulate) how.simulation.emplace(api::SimulationMode::kSampled);
  auto times = api::time_network(o.source, *a, how, diags);
  if (!times) return report(diags);
  times->of.version = api::version();
  times->of.changes = o.arch.changes();
  report_notes(diags);
  if (!o.folder.empty() &&
      !(write_programs(times->programs, o.folder) &&
        write_text(base::to_json(base::to_entries(*times), 1) + '\n', fmt::format("{}/network.json", o.folder))))
    return kFailed;
  if (o.json)
    print_json(base::to_entries(*times), diags);
  else
    print_network_times(*times, o.source.name, a->name);
  if (!o.json) print_legend(o.legend);
  const bool every =
      std::all_of(times->groups.begin(), times->groups.end(), [](const auto& g) { return g.error.empty(); });
  return every ? kDone : kFailed;
}

}  // namespace

void add_network(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "network", "Networks: list, show, schema, or how long one takes on a chip, its nodes, its values");
  command->require_subcommand(0, 1);
  auto o = std::make_shared<NetworkOptions>();
  const auto add_source = [o](CLI::App& to, const std::string& file) {
    to.add_option(file, o->source.name, "A name (network list), a YAML file or an ONNX file")->check(some_text());
    to.add_option("--size", o->source.sizes, "Values of its variables, or of open dimensions: batch=64,seq=512")
        ->check(some_text());
    to.add_option("--requests", o->source.requests,
                  "Requests that a language model computes together: a CSV file with new, past and sequences")
        ->check(some_text());
    to.add_option("--dtype", o->source.dtype, "Element type of all real numbers: f32, f16, bf16 or f64")
        ->check(some_text());
    to.add_option("--pass", o->source.passes,
                  fmt::format("Simplifications: {}, all or none; on a chip all, else none, where absent",
                              fmt::join(api::pass_names(), ", ")))
        ->check(some_text());
  };
  add_source(*command, "FILE");
  o->arch.add_to(*command, ArchOptions::kMayBeAbsent);
  command
      ->add_option("--values", o->values,
                   "A folder with input_0.pb, ... and output_0.pb, ...: compute by plain loops and compare")
      ->check(some_text());
  CLI::Option* arch = command->get_option("--arch");
  for (const char* other : {"--arch", "--size", "--requests", "--dtype", "--pass"})
    command->get_option("--values")->excludes(command->get_option(other));
  command->add_flag("--nodes", o->nodes, "Every node instead of kinds of nodes")->excludes(arch);
  add_fuse(*command, o->fuse);
  command->get_option("--fuse")->needs(arch);
  o->gaps = kStreamGaps;
  command
      ->add_option("--gaps", o->gaps,
                   "What lies between two kernels: the chip's launch_overhead (stream), or its graph_launch_overhead, "
                   "where all are launched as one graph (graph)")
      ->check(CLI::IsMember(std::set<std::string>{kStreamGaps, "graph"}))
      ->needs(arch)
      ->capture_default_str();
  command
      ->add_flag("--simulate", o->simulate,
                 "Simulated times beside the predicted ones, of every kernel after those before it")
      ->needs(arch);
  command->add_option("--log", o->log, "File of constructed programs: added to, and read where they are known")
      ->check(some_text())
      ->needs(arch);
  command
      ->add_option("-o,--output", o->folder,
                   "Folder to write every program to, as ID.json (--program), all to programs.jsonl (--batch), and the "
                   "groups in their order to network.json; with --table, the file")
      ->check(some_text())
      ->needs(arch);
  command
      ->add_option("--table", o->table,
                   "Times at every point of a grid of the network's variables, to the CSV file of -o: "
                   "new=1..4096*2,past=0|1024..8192+1024")
      ->check(some_text())
      ->needs(arch)
      ->needs("--output")
      ->excludes("--simulate");
  add_jobs(*command, o->jobs);
  add_json(*command, o->json);
  add_legend(*command, o->legend);
  command->callback([o, command, &status] {
    if (!command->get_subcommands().empty()) return;
    if (o->source.name.empty()) throw CLI::RequiredError("FILE");
    status = !o->values.empty() ? check_values(*o) : o->arch.given() ? time(*o) : show(*o);
  });

  CLI::App* lists = command->add_subcommand("list", "The networks that come with Tilescope");
  add_json(*lists, o->json);
  add_legend(*lists, o->legend);
  lists->callback([o, &status] { status = list(*o); });

  CLI::App* shows = command->add_subcommand("show", "Parameters, multiply-adds, activations and kinds of nodes");
  add_source(*shows, "network");
  shows->get_option("network")->required();
  shows->add_flag("--nodes", o->nodes, "Every node instead of kinds of nodes");
  shows->add_option("--svg", o->svg, "Draw it to an SVG file, - for stdout, instead")->check(some_text());
  add_json(*shows, o->json);
  add_legend(*shows, o->legend);
  shows->callback([o, &status] { status = show(*o); });

  CLI::App* schema = command->add_subcommand("schema", "The JSON Schema that editors complete from");
  schema->add_flag("--json", o->json, "One JSON document on stdout, as without this option");
  schema->callback([&status] { status = print_file(api::network_schema_path()); });
}

}  // namespace tilescope::cli
