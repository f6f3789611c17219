// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/spec.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "api/simulate/evaluate.h"
#include "base/document.h"
#include "base/fields.h"
#include "base/home.h"
#include "base/scalar_text.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/sweep.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using base::Diagnostics;
using base::Value;

// Keys that had other names in version 0.1.
constexpr base::RenamedKey kRenamedKeys[] = {{"", "fidelity", "evaluator"}, {"", "control", "validation_sample"}};

// The items of a list, or a value that stands alone.
std::vector<const Value*> items_of(const Value& v) {
  std::vector<const Value*> out;
  if (const base::List* list = v.get_if<base::List>())
    for (const Value& item : *list) out.push_back(&item);
  else
    out.push_back(&v);
  return out;
}

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".yaml") || text.ends_with(".yml");
}

class SpecReader {
 public:
  SpecReader(SweepSpec& out, const SweepFile& file) : out_(out), file_(file), diags_(file.diags) {}

  void read(const Value& document) {
    base::Fields f(document, "the sweep", diags_, {kRenamedKeys, {}});
    const Value* title = f.require("sweep");
    if (const auto text = base::as_text(title, "sweep", diags_)) out_.title = *text;
    if (title != nullptr && title->get_if<std::string>() != nullptr && out_.title.empty())
      diags_.error(title->at, "sweep: expected a title; the store tells sweeps apart by it");
    if (const Value* base = f.require("base")) read_bases(*base);
    if (const Value* axes = f.require("axes")) {
      out_.axes_at = axes->at;
      if (!out_.bases.empty()) out_.axes = read_axes(*axes, out_.bases, file_);
    }
    const Value* constraints = f.take("constraints");
    const Value* objectives = f.take("objectives");
    const Value* plan = f.take("plan");
    const Value* sequence = f.take("sequence");
    out_.sequence = base::as_bool(sequence, "sequence", diags_).value_or(false);
    if (const Value* workloads = f.require("workloads")) {
      SweepWorkloads read = read_workloads(*workloads, out_.sequence, out_.bases, file_);
      out_.workloads = std::move(read.all);
      out_.tensors = std::move(read.tensors);
    }
    if (constraints != nullptr) out_.constraints_at = constraints->at;
    if (!out_.bases.empty()) read_objectives(objectives, constraints, file_, out_);
    if (plan != nullptr) read_plan(*plan, file_, out_);
    read_programs(f.take("programs"));
    if (const Value* evaluator = f.take("evaluator")) read_evaluator(*evaluator);
    if (out_.sequence) check_sequence(sequence->at);
    f.finish();
  }

 private:
  void read_bases(const Value& v) {
    const std::vector<const Value*> items = items_of(v);
    if (items.empty()) diags_.error(v.at, "base: no chip; name a device or a file");
    for (const Value* item : items) {
      const auto name = base::as_text(item, "base", diags_);
      if (!name) continue;
      const auto same = [&](const SweepBase& b) { return b.name == *name; };
      if (std::any_of(out_.bases.begin(), out_.bases.end(), same))
        diags_.error(item->at, fmt::format("base: '{}' stands here a second time", *name));
      else
        read_base(*name, item->at);
    }
  }

  void read_base(const std::string& name, base::Position at) {
    const std::string path = is_path(name) ? file_.path_of(name) : name;
    Diagnostics own;
    auto source = arch::ChipSource::read(path, own);
    auto chip = source ? source->with({}, own) : std::nullopt;
    for (const base::Diagnostic& e : own.errors())
      diags_.error(at, fmt::format("base: {}", e.at.line == 0 ? fmt::format("'{}': {}", name, e.text) : own.format(e)));
    if (!chip) return;
    if (const std::string why = targets::why_unsupported(*chip, &targets::Target::construct); !why.empty())
      return diags_.error(at, fmt::format("base: '{}': {}", name, why));
    auto numbers = arch::numbers_of(*chip);
    out_.bases.push_back({name, std::move(*source), std::move(*chip), std::move(numbers)});
  }

  void read_programs(const Value* v) {
    using From = SweepPrograms::From;
    if (v == nullptr) return out_.programs.push_back({From::kConstruct, "construct", {}, {}});
    for (const Value* item : items_of(*v)) {
      if (item->is_map()) {
        read_program_file(*item);
      } else if (const auto choice = base::as_choice(item, "programs", {"construct", "fixed"}, diags_)) {
        const bool fixed = *choice == 1;
        add({fixed ? From::kBase : From::kConstruct, fixed ? "fixed" : "construct", {}, item->at});
      }
    }
    if (out_.programs.empty() && diags_.ok())
      diags_.error(v->at, "programs: none; say construct, fixed or {from: FILE.jsonl}");
  }

  void read_program_file(const Value& item) {
    base::Fields f(item, "programs", diags_);
    const Value* from = f.require("from");
    const auto name = base::as_text(from, "from", diags_);
    f.finish();
    if (!name) return;
    const std::string path = file_.path_of(*name);
    Diagnostics own;
    auto text = base::read_file(path, own.add_source(path), own, {std::size_t{1} << 30, 64});
    for (const base::Diagnostic& e : own.errors()) diags_.error(from->at, fmt::format("from: '{}': {}", *name, e.text));
    if (text) add({SweepPrograms::From::kFile, *name, api::NamedText{path, std::move(*text)}, from->at});
  }

  void add(SweepPrograms p) {
    const auto same = [&](const SweepPrograms& other) { return other.name == p.name; };
    if (std::any_of(out_.programs.begin(), out_.programs.end(), same))
      return diags_.error(p.at, fmt::format("programs: '{}' stands here a second time", p.name));
    out_.programs.push_back(std::move(p));
  }

  void check_sequence(base::Position at) {
    if (out_.simulate || out_.multi_fidelity)
      diags_.error(at,
                   "sequence: the model alone evaluates the sequences of a sweep; leave evaluator out, or simulate "
                   "single points (simulate --suite S --sequence)");
    for (const SweepBase& b : out_.bases)
      if (const std::string why = targets::why_unsupported(b.chip, &targets::Target::estimate_sequence); !why.empty())
        diags_.error(at, fmt::format("sequence: '{}': {}", b.name, why));
  }

  void read_evaluator(const Value& v) {
    if (v.is_map()) return read_multi_fidelity(v);
    const auto text = base::as_text(&v, "evaluator", diags_);
    if (!text) return;
    const std::optional<std::size_t> first = *text == "sim" ? 0 : api::parse_evaluator(*text);
    if (!first)
      diags_.error(v.at, fmt::format("evaluator: expected sim, {}, got '{}'", api::kEvaluators, *text));
    else
      out_.simulate = *text != "model", out_.simulated_first = *first;
  }

  void read_multi_fidelity(const Value& v) {
    base::Fields f(v, "evaluator", diags_);
    base::as_choice(f.require("model"), "model", {"all"}, diags_);
    const Value* sim = f.require("sim");
    f.finish();
    if (sim != nullptr) read_simulated(*sim);
  }

  void read_simulated(const Value& v) {
    SweepMultiFidelity& e = out_.multi_fidelity.emplace();
    base::Fields f(v, "sim", diags_, {kRenamedKeys, {}});
    const Value* sample = f.take("validation_sample");
    const Value* cost = f.take("cost");
    e.asked.front = base::as_bool(f.take("front"), "front", diags_).value_or(true);
    e.asked.validation_sample =
        static_cast<std::size_t>(base::as_integer(sample, "validation_sample", {0, kMaxPoints}, diags_).value_or(0));
    if (const auto most = base::as_integer(f.take("neighbours"), "neighbours", {0, kMaxPoints}, diags_))
      e.asked.neighbours = static_cast<std::size_t>(*most);
    e.asked.seed = base::as_integer(f.take("seed"), "seed", {0, kMaxSeed}, diags_).value_or(e.asked.seed);
    if (const auto mode = base::as_choice(f.take("mode"), "mode",
                                          {api::kSimulationModes.begin(), api::kSimulationModes.end()}, diags_))
      e.mode = static_cast<api::SimulationMode>(*mode);
    f.finish();
    e.asked.mode = api::kSimulationModes[static_cast<std::size_t>(e.mode)];
    e.validation_sample_at = sample == nullptr ? v.at : sample->at;
    if (cost != nullptr && !out_.bases.empty()) e.cost = read_formula(cost, "cost", out_.bases, file_);
    if (e.cost) e.asked.cost = e.cost->text();
    if (diags_.ok() && !e.asked.front && e.asked.validation_sample == 0)
      diags_.error(v.at, "sim: nothing is to be simulated; say front: true, or validation_sample: 10");
  }

  SweepSpec& out_;
  const SweepFile& file_;
  Diagnostics& diags_;
};

}  // namespace

base::Position SweepFile::text_at(const Value& scalar) const { return base::text_at(scalar, text); }

std::string SweepFile::path_of(const std::string& named) const {
  const fs::path beside = fs::path(folder) / named;
  std::error_code failed;
  return fs::is_regular_file(beside, failed) ? beside.string() : named;
}

std::optional<SweepSpec> read_sweep(const std::string& file, int jobs, Diagnostics& diags) {
  const base::SourceId source = diags.add_source(file);
  const auto text = base::read_file(file, source, diags);
  const auto document = text ? base::read_yaml(*text, source, diags) : std::nullopt;
  if (!document) return std::nullopt;
  SweepSpec out;
  out.file = file;
  out.text = *text;
  const SweepFile as_read{file, fs::path(file).parent_path().string(), *text, jobs, diags};
  SpecReader(out, as_read).read(*document);
  if (!diags.ok()) return std::nullopt;
  return out;
}

std::optional<SweepOutline> outline_of(const std::string& file, Diagnostics& diags) {
  const auto spec = read_sweep(file, 1, diags);
  if (spec && !check_shards(*spec, diags)) return std::nullopt;
  const auto points = spec ? count_points(*spec, diags) : std::nullopt;
  if (!points) return std::nullopt;
  return SweepOutline{spec->title, spec->text, *points, spec->multi_fidelity.has_value()};
}

std::string sweep_schema_path() { return base::home_path("experiments/sweep/schema.json"); }

}  // namespace tilescope::experiments
