// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope calibrate`: the ratios of a chip's `calibration`, fitted to measured programs, what they are worth on
// shapes that they were not fitted to, and the chip's `error_bands`; or the ratios from microbenchmarks of the chip.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/common/errors.h"
#include "api/common/progress.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/document.h"

namespace tilescope::experiments {

struct CalibrateOptions {
  std::uint64_t seed = 1;  // of the draw of folds
  int jobs = 1;
  bool bands_only = false;  // ratios stay as they are
  api::ProgramFilter programs = {};
};

// What a ratio may be.
inline constexpr double kMinRatio = 0.05, kMaxRatio = 1.5;

// One ratio that the model reads.
struct CalibratedRatio {
  std::string name;              // dram.read, fma.f32
  double before = 1, after = 1;  // the same where it is not identified
  // Standard error of its logarithm, or how far the points stand apart that it is taken from; nothing without any.
  std::optional<double> error_ratio;
  std::optional<double> response_ratio;  // mean |d ln time / d ln ratio| of a fit
  bool identified = false;
  std::string why;                 // it is not
  std::string source;              // the curve that it is taken from, with figures; a fit's are the rows of the run
  std::optional<double> residual;  // median held-out |error| of the rows that it binds, or of all
};

// Errors of the rows of one kind, each predicted with ratios that were fitted without its shape.
struct HeldOut {
  std::string kind;  // "all" of all
  api::ErrorStatistics before, after;
};

// Quantiles 0.1 and 0.9 of measured over predicted time of the rows of one kind and element type, all rows of a group
// together weighing as much as any other group. Predicted with ratios that were fitted without the row's shape, or,
// where no ratio changes, with the chip's.
struct BandOfKind {
  std::string kind;  // "all" of all
  base::Dtype dtype{};
  double low = 0, high = 0;
  std::size_t rows = 0, shapes = 0;
};

enum class CalibrationMethod : std::uint8_t {
  kFit,
  kBandsOnly,        // of the ratios as they are
  kMicrobenchmarks,  // no programs: rows are points of curves, and there are no groups, no shapes and no bands
};

struct CalibrationRun {
  CalibrationMethod method{};
  std::string file;  // the batch's name, or that of the microbenchmarks
  std::uint64_t seed = 1;
  api::ProgramFilter programs;
  std::size_t left_out = 0;                      // by `programs`
  std::size_t rows = 0, groups = 0, shapes = 0;  // that were read
  std::size_t folds = 0;                         // 0: too few shapes to hold some out
  std::vector<std::string> refused;              // rows without a time or a prediction, each with its place
  std::vector<CalibratedRatio> ratios;
  std::vector<HeldOut> held_out;
  std::vector<BandOfKind> bands;  // of kinds with enough shapes

  bool any() const;  // ratio is identified
  bool says_something() const { return any() || !bands.empty(); }
};

// Fits to the lines of a batch that have a measured time. The result does not depend on the number of jobs.
CalibrationRun calibrate(const api::NamedText& batch, const arch::ArchSpec& a, const CalibrateOptions& options,
                         const api::Progress& progress);

// From curves as data/references/microbenchmarks.csv has them: those of other chips are passed over; lines that are
// none are refused, and so are points of another board than the chip's that a ratio would follow from.
CalibrationRun calibrate_by_microbenchmarks(const api::NamedText& file, const arch::ArchSpec& a);

// {"ratios":[...],"held_out":[...],"bands":[...],"summary":{...}}; of microbenchmarks the first and the last alone.
base::Value to_document(const CalibrationRun& run);

// A chip's file, at `path`, that extends `chip`, a device name or a file, and says what was found. `version` is this
// program's.
std::string calibrated_chip(const CalibrationRun& run, const arch::ArchSpec& a, const std::string& chip,
                            const std::string& path, const std::string& version);

// Writes that text whole or not at all. Throws std::runtime_error where it cannot be written.
void write_chip(const std::string& text, const std::string& path);

}  // namespace tilescope::experiments
