#pragma once
// `tilescope calibrate`: the ratios of a chip's `calibration`, fitted to measured programs, and what they are worth on
// shapes that they were not fitted to.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/document.h"
#include "experiments/errors.h"
#include "experiments/programs.h"
#include "experiments/progress.h"

namespace tilescope::experiments {

struct CalibrateOptions {
  std::uint64_t seed = 1;  // of the draw of folds
  int jobs = 1;
};

// One ratio that the model reads.
struct CalibratedRatio {
  std::string name;                   // dram.read, fma.f32
  double before = 1, after = 1;       // the same where it is not identified
  std::optional<double> error_ratio;  // standard error of its logarithm; nothing where the rows allow none
  double response_ratio = 0;          // mean |d ln time / d ln ratio|
  bool identified = false;
  std::string why;                 // it is not
  std::optional<double> residual;  // median held-out |error| of the rows that it binds, or of all
};

// Errors of the rows of one kind, each predicted with ratios that were fitted without its shape.
struct HeldOut {
  std::string kind;  // "all" of all
  ErrorStatistics before, after;
};

struct CalibrationRun {
  std::string batch;  // its name
  std::uint64_t seed = 1;
  std::size_t rows = 0, groups = 0, shapes = 0;  // that were fitted to
  std::size_t folds = 0;                         // 0: too few shapes to hold some out
  std::vector<std::string> refused;              // rows without a time or a prediction, each with its place
  std::vector<CalibratedRatio> ratios;
  std::vector<HeldOut> held_out;

  bool any() const;  // ratio is identified
};

// Fits to the lines of a batch that have a measured time. The result does not depend on the number of jobs.
CalibrationRun calibrate(const NamedText& batch, const arch::ArchSpec& a, const CalibrateOptions& options,
                         const Progress& progress);

// {"ratios":[...],"held_out":[...],"summary":{...}}.
base::Value to_document(const CalibrationRun& run);

// A chip's file, at `path`, that extends `chip`, a device name or a file, and says what was identified. `version` is
// this program's.
std::string calibrated_chip(const CalibrationRun& run, const arch::ArchSpec& a, const std::string& chip,
                            const std::string& path, const std::string& version);

// Writes that text whole or not at all. Throws std::runtime_error where it cannot be written.
void write_chip(const std::string& text, const std::string& path);

}  // namespace tilescope::experiments
