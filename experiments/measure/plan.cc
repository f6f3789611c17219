// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/plan.h"

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/process.h"
#include "base/check.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "lower/expected_values.h"

namespace tilescope::experiments {
namespace {

// A task that says nothing for longer is given up. Before its first word it may load a library that tries all of its
// algorithms, and make and read back arrays of some GB.
constexpr int kLimitSeconds = 120;

std::string role_words(const lower::Module& m, std::size_t global) {
  switch (m.globals[global].role) {
    case lower::Role::kInput:
      return fmt::format("input {}", seed_of(global));
    case lower::Role::kOutput:
      return "output";
    case lower::Role::kBetween:
      return "between";
  }
  base::check(false, "every role has words");
  return {};
}

// A line's words: what is no letter would end the line.
std::string one_line(std::string words) {
  for (char& c : words)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return words;
}

// Some libraries write the sign of what is no number.
std::string value_word(double v) { return std::isnan(v) ? "nan" : fmt::format("{}", v); }

void write(const std::string& file, std::string_view bytes) {
  if (!cuda::write_file(file, bytes)) throw std::runtime_error(file + ": cannot be written");
}

// Writes a cubin under the name of its contents; that name.
std::string kept(const std::string& folder, const std::string& cubin) {
  constexpr std::size_t kDigits = 16;
  const std::string name = base::content_hash(cubin).substr(0, kDigits) + ".cubin";
  write(folder + "/" + name, cubin);
  return name;
}

// A tensor map as one word.
std::string map_word(const lower::Module& m, const cuda::TensorMap& map) {
  const lower::Global& of = m.globals[static_cast<std::size_t>(map.global)];
  base::check(map.dtype == of.dtype, "a tensor map is of its array's elements");
  std::string out = fmt::format("{}:{}", of.name, map.swizzled_row);
  for (const cuda::TensorMap::Dim& d : map.dims) out += fmt::format(":{},{},{}", d.extent, d.stride, d.box);
  return out;
}

std::string note_lines(const PlanNotes& notes, const PlanNotes& remarks) {
  std::string out;
  for (const auto& [key, words] : notes) out += fmt::format("note {} {}\n", key, one_line(words));
  for (const auto& [key, words] : remarks) out += fmt::format("remark {} {}\n", key, one_line(words));
  return out;
}

}  // namespace

std::string array_lines(const lower::Module& m) {
  std::string out;
  for (std::size_t g = 0; g < m.globals.size(); ++g)
    out += fmt::format("array {} {} {} {}\n", m.globals[g].name, base::name_of(m.globals[g].dtype),
                       m.globals[g].elements, role_words(m, g));
  return out;
}

std::string launch_lines(const lower::Module& m, const cuda::Emitted& emitted) {
  std::string out;
  for (const cuda::EmittedKernel& k : emitted.kernels) {
    std::vector<std::string> arguments;
    for (const int g : k.globals) arguments.push_back(m.globals[static_cast<std::size_t>(g)].name);
    for (const cuda::TensorMap& map : k.maps) arguments.push_back(map_word(m, map));
    arguments.insert(arguments.end(), k.scalars.size(), fmt::format("{}{}", lower::kScalar, k.wide_scalars ? "d" : ""));
    out +=
        fmt::format("launch {} {} {} {} {}\n", k.name, k.blocks, k.threads, k.shared_bytes, fmt::join(arguments, " "));
  }
  return out;
}

std::string check_lines(const lower::Module& m, const std::vector<SampledOutput>& outputs) {
  std::string out;
  for (const SampledOutput& o : outputs) {
    out += fmt::format("check {} {}\n", m.globals[o.global].name, o.tolerance);
    for (std::size_t i = 0; i < o.elements.size(); ++i)
      out += fmt::format("expect {} {}\n", o.elements[i], value_word(o.expected[i]));
  }
  return out;
}

std::string timing_line(const MeasureTiming& t) {
  return fmt::format("time {} {} {} {}\n", t.cold ? "cold" : "warm", t.warm_up, t.repeats, t.seconds);
}

std::string energy_line(const MeasureTiming& t) {
  return t.energy_seconds > 0 ? fmt::format("energy {}\n", t.energy_seconds) : std::string();
}

std::string_view helper_text() {
  return R"(// Reads n words and writes none, which only who knows that they are zero can tell.
extern "C" __global__ void tilescope_read(uint4* from, unsigned long long n) {
  unsigned int seen = 0;
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const uint4 word = from[i];
    seen |= word.x | word.y | word.z | word.w;
  }
  if (seen != 0) from[0].x = seen;
}

// The bits of each kind of element (backends/cuda/device/elements.h), and which kind the element at an index is.
struct tilescope_kinds {
  unsigned long long bits[9];
};

template <class Element>
__device__ void tilescope_fill_with(Element* to, unsigned long long n, unsigned long long seed,
                                    const tilescope_kinds& kinds) {
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
       i += (unsigned long long)gridDim.x * blockDim.x) {
    unsigned long long x = seed * 0xd1342543de82ef95ULL + i * 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    to[i] = (Element)kinds.bits[(x >> 32) * 9 >> 32];
  }
}

extern "C" __global__ void tilescope_fill(void* to, unsigned long long n, unsigned long long seed, unsigned int size,
                                          tilescope_kinds kinds) {
  if (size == 1) tilescope_fill_with((unsigned char*)to, n, seed, kinds);
  if (size == 2) tilescope_fill_with((unsigned short*)to, n, seed, kinds);
  if (size == 4) tilescope_fill_with((unsigned int*)to, n, seed, kinds);
  if (size == 8) tilescope_fill_with((unsigned long long*)to, n, seed, kinds);
}

// Lowers *first to the place of the first byte in which a and b differ.
extern "C" __global__ void tilescope_differ(const unsigned char* a, const unsigned char* b, unsigned long long n,
                                            unsigned long long* first) {
  const unsigned long long words = n / 4;
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < words + n % 4;
       i += (unsigned long long)gridDim.x * blockDim.x) {
    if (i < words) {
      if (((const unsigned int*)a)[i] == ((const unsigned int*)b)[i]) continue;
      for (int byte = 3; byte >= 0; --byte)
        if (a[4 * i + byte] != b[4 * i + byte]) atomicMin(first, 4 * i + byte);
    } else if (a[3 * words + i] != b[3 * words + i]) {  // the bytes behind the last whole word
      atomicMin(first, 3 * words + i);
    }
  }
}

extern "C" __global__ void tilescope_nothing() {}
)";
}

std::string plan_file(const std::string& folder) { return folder + "/plan.txt"; }

void write_plan(const std::string& folder, const PlanNotes& notes, const PlanNotes& remarks, const std::string& helpers,
                const std::vector<PlanTask>& tasks) {
  std::error_code none;
  std::filesystem::create_directories(folder, none);
  std::string text = "tilescope plan 1\n" + note_lines(notes, remarks) + "helpers " + kept(folder, helpers) +
                     fmt::format("\nlimit {}\n", kLimitSeconds);
  for (const PlanTask& t : tasks) {
    text += fmt::format("\ntask {}\n{}", t.id, note_lines(t.notes, t.remarks));
    if (!t.cubin.empty()) text += fmt::format("module {}\n", kept(folder, t.cubin));
    text += t.lines;
  }
  write(plan_file(folder), text);
}

}  // namespace tilescope::experiments
