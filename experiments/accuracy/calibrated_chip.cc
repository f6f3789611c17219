// SPDX-License-Identifier: Apache-2.0
// What a calibration hands out: documents, and a chip's file.

#include <cmath>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/common/new_file.h"
#include "experiments/accuracy/calibrate.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;

// How a file at `path` says which chip it extends: a device by its name, another file from where it stands.
std::string extended(const std::string& chip, const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(chip, failed)) return chip;
  return fs::proximate(fs::absolute(chip), fs::absolute(path).parent_path()).string();
}

// JSON texts are YAML.
std::string quoted(const std::string& text) { return base::to_json(text); }

// Which rows a run took: "160 rows of 40 groups (at least 32 threads a block)".
std::string rows_of(const CalibrationRun& run) {
  std::vector<std::string> only;
  if (run.programs.min_threads > 1)
    only.push_back(fmt::format("at least {} threads a block", run.programs.min_threads));
  if (run.programs.max_accumulators)
    only.push_back(fmt::format("at most {} results a thread", *run.programs.max_accumulators));
  return fmt::format("{} rows of {} groups{}", run.rows, run.groups,
                     only.empty() ? "" : fmt::format(" ({})", fmt::join(only, ", ")));
}

}  // namespace

base::Value to_document(const CalibrationRun& run) {
  if (run.method == CalibrationMethod::kMicrobenchmarks)
    return base::Map{{"ratios", base::to_list(run.ratios)},
                     {"summary", base::Map{{"points", run.rows}, {"refused", run.refused.size()}}}};
  return base::Map{{"ratios", base::to_list(run.ratios)},
                   {"held_out", base::to_list(run.held_out)},
                   {"bands", base::to_list(run.bands)},
                   {"summary", base::Map{{"rows", run.rows},
                                         {"refused", run.refused.size()},
                                         {"left_out", run.left_out},
                                         {"groups", run.groups},
                                         {"shapes", run.shapes},
                                         {"folds", run.folds},
                                         {"seed", run.seed}}}};
}

std::string calibrated_chip(const CalibrationRun& run, const arch::ArchSpec& a, const std::string& chip,
                            const std::string& path, const std::string& version) {
  const std::string suffix = "_calibrated";
  const std::string name = a.name.ends_with(suffix) ? a.name : a.name + suffix;
  const auto from = [&](const std::string& what) {
    return fmt::format("tilescope {} calibrate, {}: {}", version, fs::path(run.file).filename().string(), what);
  };
  std::string text = fmt::format("extends: {}\nname: {}\n", quoted(extended(chip, path)), quoted(name));
  if (run.any()) text += "calibration:\n";
  for (const CalibratedRatio& r : run.ratios) {
    if (!r.identified) continue;
    text += fmt::format("  {}:\n    ratio: {:.4f}\n    source: {}\n", quoted(r.name), r.after,
                        quoted(from(r.source.empty() ? rows_of(run) : r.source)));
    // The key takes what is above 0 and at most 2.
    if (r.residual && *r.residual >= 1e-4 && *r.residual <= 2)
      text += fmt::format("    residual: {:.4f}\n", *r.residual);
  }
  if (!run.bands.empty()) text += "error_bands:\n";
  const auto source_of = [&](const BandOfKind& b) {
    std::string out = from(rows_of(run)) + (run.any() ? ", each predicted with ratios fitted to other shapes"
                                                      : ", predicted with ratios as they were");
    if (b.check)
      out += fmt::format("; shapes halved by seed {}: fitted to {}, {:.0f} % of the times of the other {} lie within",
                         run.seed, b.shapes, 100 * b.check->coverage, b.check->shapes);
    return out;
  };
  // A name is of one band: those of a second element type have it behind.
  const auto name_of_band = [&](const BandOfKind& b) {
    return b.dtype == run.bands.front().dtype ? b.kind : fmt::format("{} {}", b.kind, base::name_of(b.dtype));
  };
  // Rounded outwards: the rows at the quantiles lie within.
  for (const BandOfKind& b : run.bands)
    text += fmt::format("  {}: {{dtype: {}, low: {:.4f}, high: {:.4f}, rows: {}, source: {}}}\n",
                        quoted(name_of_band(b)), base::name_of(b.dtype), std::floor(b.low * 1e4) / 1e4,
                        std::ceil(b.high * 1e4) / 1e4, b.rows, quoted(source_of(b)));
  return text;
}

void write_chip(const std::string& text, const std::string& path) {
  api::NewFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace tilescope::experiments
