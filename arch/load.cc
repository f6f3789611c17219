// SPDX-License-Identifier: Apache-2.0
#include "arch/load.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "arch/advice.h"
#include "arch/bands.h"
#include "arch/chip_source.h"
#include "arch/derive.h"
#include "arch/detail/checks.h"
#include "arch/detail/die.h"
#include "arch/detail/fragment_checks.h"
#include "arch/detail/held_figures.h"
#include "arch/detail/merge.h"
#include "arch/detail/peaks.h"
#include "arch/detail/places.h"
#include "arch/detail/reader.h"
#include "arch/layers.h"
#include "arch/override.h"

namespace tilescope::arch {
namespace {

using base::Diagnostics;

void note_repeated_paths(const std::vector<Override>& overrides, Diagnostics& diags) {
  for (auto o = overrides.begin(); o != overrides.end(); ++o) {
    const auto later =
        std::find_if(o + 1, overrides.end(), [&](const Override& other) { return other.path == o->path; });
    if (later != overrides.end())
      diags.note({diags.add_source(name_of(*o))}, fmt::format("a later {} takes its place", name_of(*later)));
  }
}

void apply(const std::vector<Override>& overrides, Layers& layers, Diagnostics& diags) {
  note_repeated_paths(overrides, diags);
  // The file's bands are the errors of the file's ratios.
  const auto of_ratios = std::find_if(overrides.begin(), overrides.end(),
                                      [](const Override& o) { return o.path.starts_with("calibration"); });
  if (of_ratios != overrides.end() && drop(layers.chip, "error_bands"))
    diags.note({diags.add_source(name_of(*of_ratios))}, "error_bands are of other ratios and dropped");
  if (overrides.empty()) return;
  const base::Value before = layers.chip;
  base::Value over = base::Map{};
  for (const Override& o : overrides)
    if (const auto document = document_of(o, layers.chip, diags)) {
      merge(layers.chip, *document);
      merge(over, *document);
    }
  keep_held_figures(before, over, layers.chip);
  if (before.find("error_bands") != nullptr && changes_causes(before, layers.chip)) layers.error_bands_hold = false;
}

// A memory chip has no core; its cycles are those of its dram.
void give_memory_its_clock(ArchSpec& a) {
  const DramLevel* dram = dram_of(a);
  if (a.chip_class == ChipClass::kMemory && dram != nullptr) a.clock = dram->clock;
}

// Levels that the chip describes and that no reader of its class uses.
void tell_unused_levels(const Layers& layers, const ArchSpec& a, Use use, Diagnostics& diags) {
  for (const Level* level : levels_without_role(a)) {
    const Standing standing = standing_of(*level, a.chip_class);
    if (!standing.described) continue;  // said already
    const Path path = {"memory", spec_of(*level).name};
    const std::string text = fmt::format("{}: {}", text_of(path), standing.why);
    const base::Position at = place_of(layers.chip, {"memory", spec_of(*level).name, "scope"});
    if (use == Use::kRun)
      diags.error(at, text);
    else
      diags.note(at, text);
  }
}

// Libraries that stand in for levels: each beside the file that names it, one of an override where it is run.
void find_models(const Layers& layers, ArchSpec& a, Diagnostics& diags) {
  for (Level& level : a.memory) {
    auto* const dram = std::get_if<DramLevel>(&level);
    const base::Value* value =
        dram == nullptr || !dram->model ? nullptr : find_at(layers.chip, {"memory", dram->name, "model"});
    if (value == nullptr) continue;
    const bool in_file =
        std::find(layers.sources.begin(), layers.sources.end(), value->at.source) != layers.sources.end();
    const std::filesystem::path folder =
        in_file ? std::filesystem::path(diags.source_name(value->at.source)).parent_path() : std::filesystem::path();
    std::error_code failed;  // a path that cannot be made absolute stays as it is
    const auto path = std::filesystem::absolute(folder / *dram->model, failed);
    dram->model_path = failed ? *dram->model : path.lexically_normal().string();
    dram->model_place = diags.format({value->at, text_of({"memory", dram->name, "model"})});
  }
}

// The chip as its files state it, where they describe a die, which overrides scale; mistakes are reported when the chip
// with its overrides is read.
std::optional<ArchSpec> stated_by(const std::optional<Layers>& layers) {
  Diagnostics reported_later;
  if (!layers || layers->chip.find("die") == nullptr) return std::nullopt;
  return read_chip(*layers, reported_later);
}

enum class Advice : std::uint8_t { kNone, kGiven };

// `stated` is stated_by(layers); it may be absent where there are no overrides.
std::optional<ArchSpec> build(std::optional<Layers> layers, const std::optional<ArchSpec>& stated,
                              const std::vector<Override>& overrides, std::size_t mistakes_before, Diagnostics& diags,
                              Use use = Use::kRun, Advice advice = Advice::kNone) {
  const auto ok = [&] { return diags.errors().size() == mistakes_before; };
  if (!layers) return std::nullopt;
  apply(overrides, *layers, diags);
  ArchSpec chip = read_chip(*layers, diags);
  settle_die(*layers, stated, chip);
  settle_held_figures(chip);
  give_memory_its_clock(chip);
  find_models(*layers, chip, diags);
  chip.error_bands_hold = layers->error_bands_hold;
  const bool complete = ok();
  check_levels(*layers, chip, diags);
  check_chip(*layers, chip, complete, diags);
  check_bsp(*layers, chip, complete, diags);
  check_die(*layers, chip, diags);
  if (complete) tell_unused_levels(*layers, chip, use, diags);
  if (complete) settle_peaks(*layers, chip, diags);
  if (complete)
    for (ComputeSpec& c : chip.compute) settle_spelling(*layers, c, diags);
  if (advice == Advice::kGiven && ok()) advise(*layers, chip, diags);
  return ok() ? std::optional(std::move(chip)) : std::nullopt;
}

bool looks_like_a_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml");
}

// The layers of a device name or of a file.
std::optional<Layers> find_layers(const std::string& name_or_path, Diagnostics& diags) {
  std::string path = name_or_path;
  if (!looks_like_a_path(path)) {
    const auto device = device_file(path);
    std::error_code failed;
    if (device) {
      path = *device;
    } else if (!std::filesystem::is_regular_file(path, failed)) {
      const base::SourceId source = diags.add_source(name_or_path);
      diags.error({source, 0, 0}, fmt::format("neither a device nor a file{}", similar_device(path)));
      return std::nullopt;
    }
  }
  return read_layers(path, diags);
}

}  // namespace

std::optional<ArchSpec> load_arch(const std::string& name_or_path, const std::vector<Override>& overrides,
                                  Diagnostics& diags, Use use) {
  const std::size_t mistakes = diags.errors().size();
  auto layers = find_layers(name_or_path, diags);
  const auto stated = overrides.empty() ? std::nullopt : stated_by(layers);
  return build(std::move(layers), stated, overrides, mistakes, diags, use);
}

std::optional<ArchSpec> load_with_advice(const std::string& name_or_path, Diagnostics& diags) {
  const std::size_t mistakes = diags.errors().size();
  return build(find_layers(name_or_path, diags), std::nullopt, {}, mistakes, diags, Use::kLook, Advice::kGiven);
}

std::optional<ChipSource> ChipSource::read(const std::string& name_or_path, Diagnostics& diags) {
  Diagnostics sources;
  auto layers = find_layers(name_or_path, sources);
  auto stated = stated_by(layers);
  if (layers) return ChipSource(std::move(*layers), std::move(stated), std::move(sources));
  for (const base::Diagnostic& e : sources.errors())
    diags.error({diags.add_source(sources.source_name(e.at.source)), e.at.line, e.at.column}, e.text);
  return std::nullopt;
}

std::optional<ArchSpec> ChipSource::with(const std::vector<Override>& overrides, Diagnostics& own) const {
  own = sources_;
  return build(layers_, stated_, overrides, 0, own);
}

std::optional<ArchSpec> load_arch_text(std::string_view text, const std::string& name,
                                       const std::vector<Override>& overrides, Diagnostics& diags) {
  const std::size_t mistakes = diags.errors().size();
  auto layers = read_layers_of_text(text, name, diags);
  const auto stated = overrides.empty() ? std::nullopt : stated_by(layers);
  return build(std::move(layers), stated, overrides, mistakes, diags);
}

}  // namespace tilescope::arch
