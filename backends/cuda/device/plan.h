// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan of measurements: lines of text that a worker on a GPU machine reads without the rest of Tilescope. Words are
// separated by spaces; empty lines and lines that begin with # are ignored. The head:
//
//   tilescope plan 1
//   note KEY WORDS..               for every row
//   remark KEY WORDS..             the same, but not a part of a task's key: a prediction, for example
//   helpers FILE                   a cubin with the kernels tilescope_read, tilescope_fill, tilescope_differ and
//                                  tilescope_nothing; without it the host makes inputs and compares outputs, and cold
//                                  times are not possible
//   limit SECONDS                  a task is given up when it does not answer for longer than this, besides the seconds
//                                  of its own `time` and `energy` lines; 30 where there is no such line
//
// then tasks, each of which becomes a row:
//
//   task ID..
//   note KEY WORDS..               for this row
//   remark KEY WORDS..             for this row
//   module FILE                    a cubin, its path relative to the plan's folder
//   array NAME DTYPE ELEMENTS input SEED | output | between | chain STEP STRIDE
//   launch FUNCTION BLOCKS THREADS SHARED_BYTES [ARRAY | MAP | NUMBER]..
//   copy ARRAY ARRAY               a copy by the driver, to the first array from the second
//   product M N K BATCH A B C      C[b,m,n] = A[b,m,k] B[b,k,n], by cuBLAS
//   convolution any|implicit N C H W F R S STRIDE_Y STRIDE_X PAD_Y PAD_X GROUPS I W O        by cuDNN
//   check ARRAY TOLERANCE          absolute tolerance of the expected values that follow
//   expect ELEMENT VALUE           an expected value of the array in the last check
//   time cold|warm WARM_UP REPEATS SECONDS
//   loop COUNT stream|graph        every repeat runs the launches COUNT times, in the queue or as one graph of the
//                                  driver; times are those of one run
//   energy SECONDS                 after the times the steps run repeatedly for SECONDS, while the device's energy is
//                                  read; a task without steps measures the idle device
//
// Steps (launch, copy, product, convolution) run in their order, and the measured time is that of all together. Numbers
// of a launch are floats; with the ending d they are doubles, with u 32-bit integers. Inputs are those of elements.h. A
// chain is an input of i32 in which every STRIDE-th element holds the index of the element STEP links further, in a
// cycle.
//
// A MAP is ARRAY:ROW:EXTENT,STRIDE,BOX:EXTENT,STRIDE,BOX.. without spaces, "A:128:64,4096,32:4096,1,64": a tensor map
// by value (tensor_map.h). It has an EXTENT, STRIDE and BOX for each dimension, outermost first, in elements, the last
// stride being 1. ROW is the bytes of a swizzled row: 32, 64 or 128, or 0 without swizzling. The map must lie within
// the array; the driver decides whether the device can copy such boxes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "backends/cuda/tensor_map.h"
#include "base/dtype.h"

namespace tilescope::cuda::device {

enum class ArrayRole : std::uint8_t { kInput, kOutput, kBetween, kChain };

struct Array {
  std::string name;
  base::Dtype dtype{};
  std::int64_t elements = 0;
  ArrayRole role{};
  std::uint64_t seed = 0;             // of an input
  std::int64_t step = 0, stride = 1;  // of a chain

  bool is_filled() const { return role == ArrayRole::kInput || role == ArrayRole::kChain; }
  // Everything that determines the array's contents; its name does not.
  auto contents() const { return std::tuple(dtype, elements, role, seed, step, stride); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements * base::size_of(dtype).n); }
};

// The position of an array, a tensor map (its `global` is the position of its array), or a number.
using Argument = std::variant<std::size_t, TensorMap, float, double, std::uint32_t>;

struct Launch {
  std::string function;
  std::int64_t blocks = 1, threads = 1, shared_bytes = 0;
  std::vector<Argument> arguments;
};
struct DeviceCopy {
  std::size_t to = 0, from = 0;
};
struct Product {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::size_t a = 0, b = 0, c = 0;
};
struct Convolution {
  bool implicit = false;  // only the algorithms of implicit GEMM
  std::int64_t images = 0, channels = 0, height = 0, width = 0, filters = 0, window_y = 0, window_x = 0;
  std::int64_t stride_y = 1, stride_x = 1, pad_y = 0, pad_x = 0, groups = 1;
  std::size_t in = 0, weights = 0, out = 0;
};
using Step = std::variant<Launch, DeviceCopy, Product, Convolution>;

struct Expected {
  std::int64_t element = 0;
  double value = 0;
};
struct Check {
  std::size_t array = 0;
  double tolerance = 0;
  std::vector<Expected> expected;
};

struct Timing {
  bool cold = false;  // the device's cache holds no data of the task
  int warm_up = 0, repeats = 1;
  double seconds = 1;  // after which no further repeat begins
  int loop = 1;        // runs of the steps in a repeat
  bool graph = false;  // the runs of a repeat are one graph
};

using Notes = std::vector<std::pair<std::string, std::string>>;

struct Task {
  std::string id;
  std::string key;     // hash of the task's lines, the plan's notes and the module's bytes, without remarks
  Notes notes;         // remarks included
  std::string module;  // a path; empty where nothing is launched
  std::vector<Array> arrays;
  std::vector<Step> steps;
  std::vector<Check> checks;
  std::optional<Timing> timing;
  double energy_seconds = 0;  // 0: energy is not measured
};

struct Plan {
  Notes notes;          // remarks included
  std::string helpers;  // a path
  double limit_seconds = 30;
  std::vector<Task> tasks;
};

// Reads a plan. Each line that does not follow the format above adds a sentence with its number to `errors`, and so
// does each file that is missing. Paths are relative to `folder`.
Plan read_plan(std::string_view text, const std::string& folder, std::vector<std::string>& errors);

// The amount of work of tasks, to estimate their time on a host.
struct TaskAmounts {
  std::int64_t tasks = 0, samples = 0, library_calls = 0;
  double bytes = 0;    // of arrays
  double seconds = 0;  // of runs, by the remark `predicted_us`, and of energy loops
};
void add_amounts(const Task& task, TaskAmounts& to);

// The bytes of a file; nothing where it cannot be read.
std::optional<std::string> bytes_of(const std::string& path);

}  // namespace tilescope::cuda::device
