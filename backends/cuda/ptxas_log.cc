// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/ptxas_log.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace tilescope::cuda {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

// What stands between the first `before` and the next `after`.
std::optional<std::string_view> between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t found = line.find(before);
  if (found == std::string_view::npos) return std::nullopt;
  const std::size_t begin = found + before.size(), end = line.find(after, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(begin, end - begin);
}

// The number that stands before `what`; 0 where the line has no such figure.
std::int64_t count_of(std::string_view line, std::string_view what) {
  const std::size_t end = line.find(what);
  if (end == std::string_view::npos || end == 0) return 0;
  const std::size_t before = line.find_last_not_of("0123456789", end - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  std::int64_t out = 0;
  std::from_chars(line.data() + begin, line.data() + end, out);
  return out;
}

constexpr std::string_view kPtxLine = "ptx input, line ";

// The number that follows the last `before`; 0 where there is none.
std::size_t number_after(std::string_view line, std::string_view before) {
  const std::size_t found = line.rfind(before);
  if (found == std::string_view::npos) return 0;
  std::size_t out = 0;
  std::from_chars(line.data() + found + before.size(), line.data() + line.size(), out);
  return out;
}

// The line of the text that line `number` of PTX comes from; of an inlined function, the line that calls it:
//   .loc 1 2 2, function_name $L__info_string0, inlined_at 1 6 2
std::size_t line_of_text(std::string_view ptx, std::size_t number) {
  std::size_t out = 0;
  const std::vector<std::string_view> lines = lines_of(ptx);
  for (std::size_t i = 0; i < std::min(number, lines.size()); ++i)
    if (trimmed(lines[i]).starts_with(".loc"))
      for (const std::string_view before : {".loc\t1 ", "inlined_at 1 "})
        if (const std::size_t line = number_after(lines[i], before); line != 0) out = line;
  return out;
}

}  // namespace

// A kernel's lines:
//   ptxas info    : Compiling entry function 'compute_C' for 'sm_80'
//   ptxas info    : Function properties for compute_C
//   ptxas         .     264 bytes stack frame, 336 bytes spill stores, 320 bytes spill loads
//   ptxas info    : Used 40 registers, used 1 barriers, 8192 bytes smem, 376 bytes cmem[0]
// Functions that are no kernels have properties alone.
std::vector<KernelUsage> usage_in(std::string_view log) {
  std::vector<KernelUsage> out;
  bool own = false;  // the properties are the kernel's
  for (const std::string_view line : lines_of(log)) {
    if (const auto name = between(line, "Compiling entry function '", "'")) {
      out.push_back({std::string(*name), 0, 0, 0, 0, 0});
      continue;
    }
    if (out.empty()) continue;
    KernelUsage& kernel = out.back();
    if (line.find("Function properties for ") != std::string_view::npos)
      own = trimmed(line).ends_with(" " + kernel.name);
    if (own && line.find(" bytes stack frame") != std::string_view::npos) {
      kernel.stack_bytes = count_of(line, " bytes stack frame");
      kernel.spill_store_bytes = count_of(line, " bytes spill stores");
      kernel.spill_load_bytes = count_of(line, " bytes spill loads");
    }
    if (line.find(": Used ") != std::string_view::npos) {
      kernel.registers = count_of(line, " registers");
      kernel.shared_bytes = count_of(line, " bytes smem");
    }
  }
  return out;
}

bool is_about_ptx(std::string_view log) { return log.find(kPtxLine) != std::string_view::npos; }

// "kernels.cu(374): error: identifier ..." is about a line of the text, "ptxas application ptx input, line 37; error :
// Unknown ..." about one of PTX.
std::string first_error_in(std::string_view log, std::string_view text, std::string_view ptx) {
  const std::vector<std::string_view> lines = lines_of(log), written = lines_of(text);
  for (const std::string_view line : lines) {
    const std::size_t error = std::min(line.find("error"), line.find("fatal"));
    if (error == std::string_view::npos) continue;
    const std::string_view place = line.substr(0, error);
    std::size_t at = number_after(place, fmt::format("{}(", kTextName));
    if (const std::size_t of_ptx = number_after(place, kPtxLine); of_ptx != 0) at = line_of_text(ptx, of_ptx);
    const std::size_t said = line.find(": ", error);
    if (at == 0 || at > written.size() || said == std::string_view::npos) return std::string(trimmed(line));
    return fmt::format("line {}, '{}': {}", at, trimmed(written[at - 1]), trimmed(line.substr(said + 2)));
  }
  return std::string(lines.empty() ? "no reason is given" : trimmed(lines.front()));
}

}  // namespace tilescope::cuda
