// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope calibrate`: fits the ratios of a chip's `calibration` to measured programs, determines their accuracy on
// shapes that they were not fitted to, and the chip's `error_bands`; or takes the ratios from microbenchmarks of the
// chip.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/common/errors.h"
#include "api/common/progress.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/describe.h"

namespace tilescope::experiments {

struct CalibrateOptions {
  std::uint64_t seed = 1;  // seed of the random folds
  int jobs = 1;
  bool bands_only = false;  // do not change ratios
  api::ProgramFilter programs = {};
  bool check_bands = false;  // with bands_only: bands of half of the shapes, drawn by the seed, checked on the others
};

// The range of a ratio.
inline constexpr double kMinRatio = 0.05, kMaxRatio = 1.5;

// One ratio that the model reads.
struct CalibratedRatio {
  std::string name;              // dram.read, fma.f32
  double before = 1, after = 1;  // equal where the ratio is not identified
  std::optional<double> error_ratio, response_ratio;
  bool identified = false;
  std::string why, source;
  std::optional<double> residual;  // median held-out |error| of the rows whose time it dominates, or of all where those
                                   // are few; from microbenchmarks the spread
};

template <class V>
void describe(V& v, base::Is<CalibratedRatio> auto& r) {
  v.field({"name", "", "An efficiency of the chip's calibration."}, r.name);
  v.field({"before", "", "The ratio in the chip's file."}, r.before);
  v.field({"after", "", "The new ratio."}, r.after);
  v.field(
      {"error_ratio", "", "Standard error of its logarithm; from microbenchmarks the relative spread of the points."},
      r.error_ratio);
  v.field({"response_ratio", "", "Mean |d ln time / d ln ratio| of a fit."}, r.response_ratio);
  v.field({"identified", "", "Whether the rows determine the ratio."}, r.identified);
  v.field({"why", "", "Why they do not."}, base::unless_empty(r.why));
  v.field({"source", "", "The curve that it is taken from, with figures; absent for a fit."},
          base::unless_empty(r.source));
}

// Errors of the rows of one kind, each predicted with ratios fitted without the row's shape.
struct HeldOut {
  std::string kind;
  api::ErrorStatistics before, after;
};

template <class V>
void describe(V& v, base::Is<HeldOut> auto& h) {
  v.field({"kind", "", "The kind of operator, or all."}, h.kind);
  v.object({"before", "", "Errors with the chip's own ratios."}, std::optional(h.before));
  v.object({"after", "", "Errors with the fitted ratios."}, std::optional(h.after));
}

// The share of measured times within a band, over rows of shapes that the band was not fitted to.
struct BandCheck {
  double coverage = 0;
  std::size_t rows = 0, shapes = 0;
};

template <class V>
void describe(V& v, base::Is<BandCheck> auto& c) {
  v.field({"coverage_ratio", "", "The share of these rows' measured times within the band; 0.8 is nominal."},
          c.coverage);
  v.field({"rows", "", "How many rows."}, c.rows);
  v.field({"shapes", "", "How many shapes of operators."}, c.shapes);
}

// Quantiles 0.1 and 0.9 of measured over predicted time for the rows of one kind and element type. Each group of rows
// has the same total weight. Predictions use ratios fitted without the row's shape, or the chip's ratios where none
// changes.
struct BandOfKind {
  std::string kind;
  base::Dtype dtype{};
  double low = 0, high = 0;
  std::size_t rows = 0, shapes = 0;
  std::optional<BandCheck> check;
};

template <class V>
void describe(V& v, base::Is<BandOfKind> auto& b) {
  v.field({"kind", "", "The kind of operator, or all."}, b.kind);
  v.field({"dtype", "", "Element type of its tensors."}, base::name_of(b.dtype));
  v.field({"low_ratio", "", "0.1 quantile of measured over predicted time."}, b.low);
  v.field({"high_ratio", "", "0.9 quantile of measured over predicted time."}, b.high);
  v.field({"rows", "", "How many rows."}, b.rows);
  v.field({"shapes", "", "How many shapes of operators."}, b.shapes);
  v.object({"check", "", "Rows of other shapes; present with --bands-only --seed."}, b.check);
}

enum class CalibrationMethod : std::uint8_t {
  kFit,
  kBandsOnly,        // error bands with unchanged ratios
  kMicrobenchmarks,  // rows are points of curves instead of programs; there are no groups, shapes or bands
};

struct CalibrationRun {
  CalibrationMethod method{};
  std::string file;  // the name of the batch or of the microbenchmarks' file
  std::uint64_t seed = 1;
  api::ProgramFilter programs;
  std::size_t left_out = 0;                      // rows that `programs` excludes
  std::size_t rows = 0, groups = 0, shapes = 0;  // numbers of those that were read
  std::size_t folds = 0;                         // 0: too few shapes for held-out ones
  std::vector<std::string> refused;              // rows without a time or a prediction, each with its place
  std::vector<CalibratedRatio> ratios;
  std::vector<HeldOut> held_out;
  std::vector<BandOfKind> bands;  // for kinds with enough shapes

  bool any() const;  // whether any ratio is identified
  bool says_something() const { return any() || !bands.empty(); }
};

// Fits ratios to the lines of a batch that have a measured time. The result does not depend on the number of jobs.
CalibrationRun calibrate(const api::NamedText& batch, const arch::ArchSpec& a, const CalibrateOptions& options,
                         const api::Progress& progress);

// Takes ratios from curves in the format of data/references/microbenchmarks.csv. Curves of other chips are skipped.
// Malformed lines are refused, and so are points of a different board than the chip's on the curves that ratios use.
CalibrationRun calibrate_by_microbenchmarks(const api::NamedText& file, const arch::ArchSpec& a);

// {"ratios":[...],"held_out":[...],"bands":[...],"summary":{...}}; from microbenchmarks only "ratios" and "summary".
base::Value to_document(const CalibrationRun& run);

// The text of a chip's file, for writing at `path`, that extends `chip`, a device name or a file, with the results.
// `version` is that of this program.
std::string calibrated_chip(const CalibrationRun& run, const arch::ArchSpec& a, const std::string& chip,
                            const std::string& path, const std::string& version);

// Writes that text atomically. Throws std::runtime_error where it cannot be written.
void write_chip(const std::string& text, const std::string& path);

}  // namespace tilescope::experiments
