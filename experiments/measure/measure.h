// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope measure`: measures programs on the GPU of this machine, or writes a plan for another machine.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/progress.h"
#include "api/device_usage.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

// Baselines to compare a program's time with.
enum class Baseline : std::uint8_t {
  kCublas,         // products
  kCudnn,          // convolutions, by the fastest algorithm
  kCudnnImplicit,  // convolutions by implicit GEMM, which gathers operands on the fly
  kCopy,           // the driver's copy of as many bytes as the operator's tensors have
};

// cublas, cudnn, cudnn-implicit, copy.
std::vector<std::string_view> baseline_names();
std::string_view name_of(Baseline b);
// Returns nullopt after an error at --baseline where the name is unknown.
std::optional<Baseline> baseline_of(std::string_view name, base::Diagnostics& diags);

struct MeasureTiming {
  bool cold = false;  // the device's cache holds no operands at the start
  int warm_up = 3, repeats = 50;
  double seconds = 1;         // no repeat begins after this time
  double energy_seconds = 0;  // duration of every program's loop while the device's energy is read; 0 reads none
};

struct MeasureOptions {
  MeasureTiming timing;             // no repeats: check values only; microbenchmarks: at least one, always cold
  std::size_t samples = 256;        // elements of each output that are compared with plain loops
  std::vector<Baseline> baselines;  // measured for every operator's first program
  std::string rows;                 // a file to which rows are appended and whose rows are not measured again; or empty
  std::string plan;                 // a folder that keeps the plan; or empty
  bool dry_run = false;             // everything up to the launch; needs no GPU
  std::string command;              // the command line, for the rows
  int jobs = 1;
};

// A time on the device.
struct MeasuredTime {
  double us = 0, low_us = 0, high_us = 0, spread_ratio = 0;
};

struct MeasuredRow {
  std::string id, kind;
  std::size_t rank = 0;
  std::string baseline;  // the baseline that is timed; empty for our own programs
  std::optional<double> predicted_us;
  std::optional<api::DeviceUsage> usage;
  std::optional<MeasuredTime> measured;
  std::string values;               // "ok", "wrong"; empty where nothing was compared
  base::Map as_kept;                // the complete row of the file
  std::vector<std::string> errors;  // each with its place
};

struct Measurement {
  base::Value device;  // null in a dry run
  std::vector<MeasuredRow> rows;
  std::optional<double> launch_us;  // time of a kernel that does nothing
  bool finished = true;             // false where the worker ended before all rows
};

// Returns nullopt after errors: the source has mistakes, the chip's kernels cannot be compiled here, or this machine
// has no such GPU. Notes list the differences between the device and the chip's description.
std::optional<Measurement> measure(const api::ProgramSource& source, const arch::ArchSpec& a,
                                   const MeasureOptions& options, const api::Progress& progress,
                                   base::Diagnostics& diags);

// {"device":...,"rows":[...],"summary":{...}}.
base::Value to_document(const Measurement& m);

}  // namespace tilescope::experiments
