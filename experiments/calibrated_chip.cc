// What a calibration hands out: documents, and a chip's file.

#include <filesystem>

#include <fmt/format.h>

#include "experiments/calibrate.h"
#include "experiments/new_file.h"

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

base::Map to_entries(const CalibratedRatio& r) {
  base::Map out = {{"name", r.name, {}}, {"before", r.before, {}}, {"after", r.after, {}}};
  if (r.error_ratio) out.push_back({"error_ratio", *r.error_ratio, {}});
  out.push_back({"response_ratio", r.response_ratio, {}});
  out.push_back({"identified", r.identified, {}});
  if (!r.why.empty()) out.push_back({"why", r.why, {}});
  return out;
}

}  // namespace

base::Value to_document(const CalibrationRun& run) {
  base::List ratios, held_out;
  for (const CalibratedRatio& r : run.ratios) ratios.emplace_back(to_entries(r));
  for (const HeldOut& h : run.held_out)
    held_out.emplace_back(
        base::Map{{"kind", h.kind, {}}, {"before", to_entries(h.before), {}}, {"after", to_entries(h.after), {}}});
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return base::Map{{"ratios", std::move(ratios), {}},
                   {"held_out", std::move(held_out), {}},
                   {"summary",
                    base::Map{{"rows", count(run.rows), {}},
                              {"refused", count(run.refused.size()), {}},
                              {"groups", count(run.groups), {}},
                              {"shapes", count(run.shapes), {}},
                              {"folds", count(run.folds), {}},
                              {"seed", static_cast<std::int64_t>(run.seed), {}}},
                    {}}};
}

std::string calibrated_chip(const CalibrationRun& run, const arch::ArchSpec& a, const std::string& chip,
                            const std::string& path, const std::string& version) {
  const std::string suffix = "_calibrated";
  const std::string name = a.name.ends_with(suffix) ? a.name : a.name + suffix;
  const std::string source = quoted(fmt::format("tilescope {} calibrate, {}: {} rows of {} groups", version,
                                                fs::path(run.batch).filename().string(), run.rows, run.groups));
  std::string text = fmt::format("extends: {}\nname: {}\n", quoted(extended(chip, path)), quoted(name));
  if (run.any()) text += "calibration:\n";
  for (const CalibratedRatio& r : run.ratios) {
    if (!r.identified) continue;
    text += fmt::format("  {}:\n    ratio: {:.4f}\n    source: {}\n", quoted(r.name), r.after, source);
    // The key takes what is above 0 and at most 2.
    if (r.residual && *r.residual >= 1e-4 && *r.residual <= 2)
      text += fmt::format("    residual: {:.4f}\n", *r.residual);
  }
  return text;
}

void write_chip(const std::string& text, const std::string& path) {
  NewFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace tilescope::experiments
