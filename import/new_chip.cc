// SPDX-License-Identifier: Apache-2.0
// Peaks and bandwidths are effects; a file states causes. A peak becomes multiply-adds a clock and core, a DRAM's
// bandwidth the clock of its bus (with timing that stays the same time), a cache's the clock of its slices.

#include "import/new_chip.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/compile.h"
#include "api/explain.h"
#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/numbers.h"
#include "arch/override.h"
#include "base/fields.h"
#include "base/option.h"
#include "base/quantity.h"
#include "import/chip_file.h"

namespace tilescope::importers {
namespace {

using base::Diagnostics;

// A figure that the file states, and where it is from.
struct Stated {
  FileFigure figure;
  base::Position at;
  bool given = true;  // else it follows from one that is, and is marked as assumed
};

std::pair<std::string_view, std::string_view> split(std::string_view key) {
  const std::size_t blank = key.find(' ');
  if (blank == std::string_view::npos) return {key, {}};
  return {key.substr(0, blank), key.substr(blank + 1)};
}

// Instructions of one element type: the fastest, which a data sheet's peak is of, and the other matrix instructions.
struct Units {
  const arch::ComputeSpec* fastest = nullptr;
  std::vector<const arch::ComputeSpec*> others;
};

Units units_of(const arch::ArchSpec& a, std::string_view dtype) {
  Units out;
  for (const arch::ComputeSpec& c : a.compute)
    if (base::name_of(c.dtype) == dtype && (out.fastest == nullptr || c.per_core > out.fastest->per_core))
      out.fastest = &c;
  for (const arch::ComputeSpec& c : a.compute)
    if (&c != out.fastest && base::name_of(c.dtype) == dtype && c.m * c.n > 1) out.others.push_back(&c);
  return out;
}

std::string flops_text(double v) { return fmt::format("{:.4g} TFLOP/s", v * 1e-12); }
std::string rate_text(double v) { return fmt::format("{:.4g} GB/s", v * 1e-9); }

class Sheet {
 public:
  Sheet(const Base& base, Diagnostics& diags) : base_(base), chip_(base.chip), diags_(diags) {}

  // Cores and clock first: peaks are per core and clock.
  std::vector<Stated> read(const std::vector<Answer>& answers) {
    for (const std::string_view kind : {"cores", "clock", "peak", "capacity", "bandwidth", "power"})
      for (const Answer& a : answers)
        if (split(a.key).first == kind) add(a, kind, split(a.key).second);
    return std::move(stated_);
  }

 private:
  void add(const Answer& a, std::string_view kind, std::string_view of) {
    const base::Value value = value_of(a);
    if (kind == "cores") {
      if (const auto n = base::as_integer(&value, a.key, {1, 1'000'000}, diags_)) {
        chip_.core.count = *n;
        state("core.count", fmt::format("{}", *n), a, "given");
        add_spares(a);
      }
    } else if (kind == "clock") {
      if (const auto hertz = base::as_hertz(&value, a.key, diags_)) {
        chip_.clock = *hertz;
        state("clock", a.value, a, "given");
      }
    } else if (kind == "peak") {
      if (const auto rate = base::as_flops_per_second(&value, a.key, diags_)) add_peak(a, of, rate->v);
    } else if (kind == "capacity") {
      if (base::as_bytes(&value, a.key, diags_)) add_capacity(a, of);
    } else if (kind == "bandwidth") {
      if (const auto rate = base::as_bytes_per_second(&value, a.key, diags_)) add_bandwidth(a, of, rate->v);
    } else if (base::as_watts(&value, a.key, diags_)) {
      if (!base_.chip.power)
        fail(a, fmt::format("{} has no figures of power that a limit would act on", base_.name));
      else
        state("power.limit", a.value, a, "given");
    }
  }

  base::Value value_of(const Answer& a) {
    Diagnostics own;
    auto v = base::read_yaml(a.value, own.add_source(a.key), own);
    base::Value out = v ? std::move(*v) : base::Value(a.value);
    out.at = a.at;
    return out;
  }

  void fail(const Answer& a, std::string text) { diags_.error(a.at, fmt::format("{}: {}", a.key, std::move(text))); }

  void state(std::string path, std::string value, const Answer& a, std::string_view why, bool given = true) {
    std::string comment = given ? "[D] as given" : fmt::format("[E] {}", why);
    if (given && why != "given") comment += fmt::format(": {}", why);
    stated_.push_back({{std::move(path), std::move(value), std::move(comment)}, a.at, given});
  }

  // At least what is enabled is built.
  void add_spares(const Answer& a) {
    if (!base_.chip.die || !base_.chip.die->cores || *base_.chip.die->cores >= chip_.core.count) return;
    const double share = static_cast<double>(*base_.chip.die->cores) / static_cast<double>(base_.chip.core.count);
    state("die.cores", fmt::format("{:.0f}", std::ceil(share * static_cast<double>(chip_.core.count))), a,
          fmt::format("as many spares as {}", base_.name), false);
  }

  void add_peak(const Answer& a, std::string_view dtype, double rate) {
    const Units units = units_of(base_.chip, dtype);
    if (units.fastest == nullptr) return fail(a, fmt::format("{} has no instruction of {}", base_.name, dtype));
    const double exact = rate / 2 / static_cast<double>(chip_.core.count) / static_cast<double>(chip_.clock.n);
    // A data sheet rounds; cores come in powers of two, or nearly.
    const double per_core = std::max(1.0, std::round(exact));
    const double ratio = per_core / static_cast<double>(units.fastest->per_core);
    state(fmt::format("compute.{}.per_core", units.fastest->name), fmt::format("{:.0f}", per_core), a,
          fmt::format("{} over {} cores at {:.4g} GHz, {:.5g} multiply-adds", a.value, chip_.core.count,
                      static_cast<double>(chip_.clock.n) * 1e-9, exact));
    if (std::abs(per_core / exact - 1) < 0.02)
      state(fmt::format("compute.{}.peak", units.fastest->name), a.value, a, "given");
    for (const arch::ComputeSpec* other : units.others)
      state(fmt::format("compute.{}.per_core", other->name),
            fmt::format("{:.0f}", std::max(1.0, std::round(ratio * static_cast<double>(other->per_core)))), a,
            fmt::format("the share of {} that it has on {}", units.fastest->name, base_.name), false);
  }

  const arch::Level* level(const Answer& a, std::string_view name) {
    const arch::Level* found = arch::level_named(base_.chip, name);
    if (found != nullptr) return found;
    std::vector<std::string_view> names;
    for (const arch::Level& l : base_.chip.memory) names.push_back(arch::spec_of(l).name);
    fail(a, fmt::format("{} has no level '{}', only {}{}", base_.name, name, fmt::join(names, ", "),
                        base::did_you_mean(name, names)));
    return nullptr;
  }

  void add_capacity(const Answer& a, std::string_view of) {
    const arch::Level* l = level(a, of);
    if (l == nullptr) return;
    state(fmt::format("memory.{}.capacity", of), a.value, a, "given");
    const auto* smem = std::get_if<arch::ScratchpadLevel>(l);
    const auto quantity = base::parse_quantity(a.value);
    if (smem != nullptr && smem->per_block && quantity)
      state(fmt::format("memory.{}.per_block", of),
            fmt::format("{:.0f} B", quantity->value - static_cast<double>(smem->reserved_per_block.n)), a,
            "all that is not reserved", false);
    const auto* cache = std::get_if<arch::CacheLevel>(l);
    if (cache == nullptr || !base_.chip.die || !quantity) return;
    const auto built = base_.chip.die->caches.find(std::string(of));
    if (built != base_.chip.die->caches.end() && static_cast<double>(built->second.capacity.n) < quantity->value)
      state(fmt::format("die.caches.{}.capacity", of), a.value, a, "no spares", false);
  }

  void add_bandwidth(const Answer& a, std::string_view of, double rate) {
    const arch::Level* l = level(a, of);
    if (l == nullptr) return;
    if (const auto* dram = std::get_if<arch::DramLevel>(l)) return add_dram(a, *dram, rate);
    const auto* cache = std::get_if<arch::CacheLevel>(l);
    if (cache == nullptr || cache->scope != arch::Scope::kDevice)
      return fail(a, fmt::format("the bandwidth of {} follows from its width and the clock; state those by {}", of,
                                 base::option("set") + " memory." + std::string(of) + "..."));
    const double clock = rate / static_cast<double>(cache->slices * cache->width.n);
    state(fmt::format("memory.{}.clock", of), fmt::format("{:.0f} Hz", clock), a,
          fmt::format("{} over {} slices of {} B", a.value, cache->slices, cache->width.n));
  }

  // The bus as wide as the device's, at another clock. Timing is a time; what follows from bursts is not.
  void add_dram(const Answer& a, const arch::DramLevel& dram, double rate) {
    const double clock = rate / static_cast<double>(dram.channels * dram.width.n * dram.rate);
    const std::string path = fmt::format("memory.{}.", dram.name);
    state(path + "clock", fmt::format("{:.0f} Hz", clock), a,
          fmt::format("{} over {} channels of {} B, {} transfers a clock", a.value, dram.channels, dram.width.n,
                      dram.rate));
    if (std::llround(clock) == dram.clock.n) return;
    const double ratio = clock / static_cast<double>(dram.clock.n);
    for (const auto& [key, cycles] : dram.timing) {
      if (key.starts_with("ccd") || key == "rtw") continue;
      const double now = std::ceil(static_cast<double>(cycles.n) * ratio - 1e-6);
      state(path + "timing." + key, fmt::format("{:.0f} cycles", now), a,
            fmt::format("as long as on {}, {} cycles", base_.name, cycles.n), false);
    }
    const auto ras = dram.timing.find("ras"), rp = dram.timing.find("rp");
    if (ras == dram.timing.end() || rp == dram.timing.end()) return;
    for (Stated& s : stated_)
      if (s.figure.path == path + "timing.rc")
        s.figure.value = fmt::format("{:.0f} cycles", std::ceil(static_cast<double>(ras->second.n) * ratio - 1e-6) +
                                                          std::ceil(static_cast<double>(rp->second.n) * ratio - 1e-6));
  }

  const Base& base_;
  arch::ArchSpec chip_;  // with the cores and the clock that are given
  Diagnostics& diags_;
  std::vector<Stated> stated_;
};

std::vector<arch::Override> overrides_of(const std::vector<Stated>& stated) {
  std::vector<arch::Override> out;
  for (const Stated& s : stated) out.push_back({s.figure.path, in_quotes(s.figure.value)});
  return out;
}

// The operators whose times say what a figure is worth: a product in the fastest type, and a copy of memory.
struct Probe {
  std::string op, sizes, dtype, words;
};

std::vector<Probe> probes_of(const arch::ArchSpec& a) {
  const arch::ComputeSpec* fastest = nullptr;
  for (const base::Dtype d : {base::Dtype::kF16, base::Dtype::kBf16, base::Dtype::kF32})
    for (const arch::ComputeSpec& c : a.compute)
      if (c.dtype == d && (fastest == nullptr || c.per_core > fastest->per_core)) fastest = &c;
  const std::string dtype(fastest == nullptr ? "f32" : base::name_of(fastest->dtype));
  return {{"C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096", dtype, fmt::format("4096^3 in {}", dtype)},
          {"O[i] = X[i]", "i=67108864", dtype, fmt::format("64 Mi elements of {}", dtype)}};
}

// By path, how a time answers to a figure: of its increase, the elasticity of the best program.
using Elasticities = std::map<std::string, double>;

Elasticities elasticities_of(const Probe& probe, const Base& base, const std::vector<arch::Override>& overrides,
                             const arch::ArchSpec& chip, int jobs, Diagnostics& diags) {
  api::Workload workload;
  workload.op = probe.op;
  workload.sizes = probe.sizes;
  workload.dtype = probe.dtype;
  const api::LoadChanged load = [&](const arch::Override& one_more, Diagnostics& own) {
    std::vector<arch::Override> all = overrides;
    all.push_back(one_more);
    return base.source.with(all, own);
  };
  Elasticities out;
  Diagnostics own;  // changes that a loader refuses are no concern of the new chip
  const auto operators = api::explain(workload, chip, load, jobs, [](std::size_t, std::size_t) {}, own);
  if (!operators) return out;
  for (const api::ExplainedOperator& op : *operators) {
    if (!op.error.empty()) diags.note({}, fmt::format("{}: {}", probe.words, op.error));
    for (const api::Elasticity& e : op.elasticities) {
      double& kept = out[e.change.path];
      if (std::abs(e.elasticity) > std::abs(kept)) kept = e.elasticity;
    }
  }
  return out;
}

double at(const Elasticities& of, const std::string& path) {
  const auto found = of.find(path);
  return found == of.end() ? 0 : found->second;
}

}  // namespace

std::vector<Question> questions_of(const Base& base) {
  const arch::ArchSpec& a = base.chip;
  std::vector<Question> out = {
      {"cores", "cores (SMs, CUs)", fmt::format("{}", a.core.count)},
      {"clock", "clock under load", fmt::format("{:.6g} GHz", static_cast<double>(a.clock.n) * 1e-9)}};
  std::set<std::string> dtypes;
  for (const arch::ComputeSpec& c : a.compute) {
    const std::string dtype(base::name_of(c.dtype));
    if (c.name.starts_with("special") || !dtypes.insert(dtype).second) continue;
    const Units units = units_of(a, dtype);
    out.push_back({"peak " + dtype, fmt::format("peak of {} ({})", dtype, units.fastest->name),
                   flops_text(arch::peak_of(a, *units.fastest).v)});
  }
  for (const arch::Level& l : a.memory) {
    const arch::LevelSpec& s = arch::spec_of(l);
    const auto* cache = std::get_if<arch::CacheLevel>(&l);
    if (const auto* dram = std::get_if<arch::DramLevel>(&l))
      out.push_back({"bandwidth " + s.name, "bandwidth of " + s.name, rate_text(arch::bandwidth_of(a, *dram).v)});
    if (cache != nullptr && cache->scope == arch::Scope::kDevice)
      out.push_back({"bandwidth " + s.name, "bandwidth of " + s.name, rate_text(arch::bandwidth_of(a, *cache).v)});
    out.push_back({"capacity " + s.name,
                   fmt::format("capacity of {}{}", s.name, s.scope == arch::Scope::kDevice ? "" : ", of a core"),
                   *arch::written({{}, 0, base::Dimension::kBytes, true}, static_cast<double>(s.capacity.n))
                        .get_if<std::string>()});
  }
  if (a.power && a.power->limit)
    out.push_back({"power", "power of the board", fmt::format("{:.6g} W", a.power->limit->v)});
  return out;
}

std::optional<NewChip> new_chip(const Base& base, const NewChipOptions& options, Diagnostics& diags) {
  std::vector<Stated> stated = Sheet(base, diags).read(options.answers);
  for (const auto& [path, value] : options.sets)
    stated.push_back({{path, value, "[D] as given"}, {diags.add_source(arch::name_of(arch::Override{path, value}))}});
  if (!diags.ok()) return std::nullopt;
  const std::vector<arch::Override> overrides = overrides_of(stated);
  Diagnostics own;
  const auto chip = base.source.with(overrides, own);
  if (!chip) {
    for (const base::Diagnostic& d : own.errors()) {
      const auto of = std::find_if(stated.begin(), stated.end(), [&](const Stated& s) {
        return arch::name_of(arch::Override{s.figure.path, in_quotes(s.figure.value)}) == own.source_name(d.at.source);
      });
      diags.error(of == stated.end() ? base::Position{} : of->at, d.text);
    }
    return std::nullopt;
  }
  NewChip out;
  const std::vector<Probe> probes = probes_of(*chip);
  out.product = probes[0].words;
  out.copy = probes[1].words;
  const Elasticities product = elasticities_of(probes[0], base, overrides, *chip, options.jobs, diags);
  const Elasticities copy = elasticities_of(probes[1], base, overrides, *chip, options.jobs, diags);
  ChipFile file;
  file.head = {
      fmt::format("A chip from a data sheet, over {}: tilescope arch new. Marks: [D] as given, [E] assumed, as",
                  base.name),
      fmt::format("{} has it. Behind an assumed figure: the percent by which times change for a percent of it,",
                  base.name),
      fmt::format("of a product ({}) and of a copy ({}). Ratios of `calibration` are {}'s too.", out.product, out.copy,
                  base.name)};
  file.extends = base.name;
  file.name = options.name;
  file.title = fmt::format("{}, like {}", options.name, base.name);
  std::set<std::string> paths;
  for (const Stated& s : stated) {
    file.figures.push_back(s.figure);
    paths.insert(s.figure.path);
  }
  for (const arch::Number& n : arch::numbers_of(*chip)) {
    const base::Value* theirs = arch::value_at(n.path, base.source.document());
    if (theirs == nullptr || paths.contains(n.path)) continue;
    if (n.path.ends_with(".peak")) continue;  // follows from its causes, and is dropped where one of them changes
    const auto* text = theirs->get_if<std::string>();
    const AssumedFigure figure{n.path, text == nullptr ? base::to_json(*theirs) : *text, at(product, n.path),
                               at(copy, n.path)};
    std::string comment = "[E] assumed";
    const double most = std::max(std::abs(figure.product), std::abs(figure.copy));
    if (most >= api::kMinElasticity)
      comment += fmt::format(": product {:+.2f} %, copy {:+.2f} %", figure.product, figure.copy);
    file.figures.push_back({figure.path, figure.value, std::move(comment)});
    if (most >= api::kMinElasticity)
      out.assumed.push_back(figure);
    else
      ++out.unmoved;
  }
  const auto weight = [](const AssumedFigure& f) { return std::max(std::abs(f.product), std::abs(f.copy)); };
  std::stable_sort(out.assumed.begin(), out.assumed.end(),
                   [&](const AssumedFigure& x, const AssumedFigure& y) { return weight(x) > weight(y); });
  out.text = text_of(file, base.source.document(), diags);
  if (!diags.ok()) return std::nullopt;
  arch::load_arch_text(out.text, options.name, {}, diags);
  if (!diags.ok()) return std::nullopt;
  return out;
}

}  // namespace tilescope::importers
