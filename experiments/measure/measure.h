// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope measure`: programs on the GPU of this machine, or as a plan for another machine's.

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

// What a program's time stands beside.
enum class Baseline : std::uint8_t {
  kCublas,         // products
  kCudnn,          // convolutions, by whatever algorithm is fastest
  kCudnnImplicit,  // convolutions that gather their operands on the way
  kCopy,           // the driver's copy of as many bytes as the operator's tensors have
};

// cublas, cudnn, cudnn-implicit, copy.
std::vector<std::string_view> baseline_names();
std::string_view name_of(Baseline b);
// An error at --baseline where it is none.
std::optional<Baseline> baseline_of(std::string_view name, base::Diagnostics& diags);

struct MeasureTiming {
  bool cold = false;  // the device's cache holds nothing of the operands
  int warm_up = 3, repeats = 50;
  double seconds = 1;         // after which no repeat is begun
  double energy_seconds = 0;  // of every program's loop while the device's energy is read; 0 reads none
};

struct MeasureOptions {
  MeasureTiming timing;             // no repeats: values alone; of microbenchmarks at least one, and always cold
  std::size_t samples = 256;        // of each output that are compared with plain loops
  std::vector<Baseline> baselines;  // of every operator's first program
  std::string rows;                 // a file that rows are added to, and that says what is done; or none
  std::string plan;                 // a folder that keeps the plan; or none
  bool dry_run = false;             // all up to the launch: needs no GPU
  std::string command;              // what was asked, for the rows
  int jobs = 1;
};

// A time on the device.
struct MeasuredTime {
  double us = 0, low_us = 0, high_us = 0, spread_ratio = 0;
};

struct MeasuredRow {
  std::string id, kind;
  std::size_t rank = 0;
  std::string baseline;  // whose time it is; empty of our own programs
  std::optional<double> predicted_us;
  std::optional<api::DeviceUsage> usage;
  std::optional<MeasuredTime> measured;
  std::string values;               // "ok", "wrong"; empty where nothing was compared
  base::Map as_kept;                // the row of the file, whole
  std::vector<std::string> errors;  // each with its place
};

struct Measurement {
  base::Value device;  // null in a dry run
  std::vector<MeasuredRow> rows;
  std::optional<double> launch_us;  // of a kernel that does nothing
  bool finished = true;             // false where the worker ended before all rows
};

// Nothing after errors: the source has mistakes, the chip's kernels cannot be compiled here, or this machine has no
// such GPU. Notes say in what the device differs from the chip that is described.
std::optional<Measurement> measure(const api::ProgramSource& source, const arch::ArchSpec& a,
                                   const MeasureOptions& options, const api::Progress& progress,
                                   base::Diagnostics& diags);

// {"device":...,"rows":[...],"summary":{...}}.
base::Value to_document(const Measurement& m);

}  // namespace tilescope::experiments
