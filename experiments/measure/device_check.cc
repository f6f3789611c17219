// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/detail/device_check.h"

#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "arch/derive.h"

namespace tilescope::experiments {
namespace {

double figure(const base::Value& device, std::string_view key) {
  const base::Value* v = device.find(key);
  const std::int64_t* whole = v == nullptr ? nullptr : v->get_if<std::int64_t>();
  return whole == nullptr ? 0 : static_cast<double>(*whole);
}

struct Figure {
  std::string what;
  std::string_view unit;
  double described = 0, found = 0;
  double tolerance = 0;  // relative
};

}  // namespace

std::vector<std::string> differences(const arch::ArchSpec& a, const base::Value& device) {
  constexpr double kClose = 0.02, kSystems = 0.08;  // what systems keep of a memory for themselves
  constexpr double kTransfersAClock = 2;
  std::vector<Figure> figures = {
      {a.core.name + "s", "", static_cast<double>(a.core.count), figure(device, "cores"), 0},
      {"clock", " MHz", static_cast<double>(a.clock.n) / 1e6, figure(device, "clock_khz") / 1e3, kClose},
      {"threads of a block", "", static_cast<double>(a.core.max_block_threads), figure(device, "block_threads"), 0},
      {"threads of a core", "", static_cast<double>(a.core.max_threads), figure(device, "core_threads"), 0}};
  const auto add_level = [&](const arch::LevelSpec* level, std::string_view what, double described,
                             std::string_view key, double tolerance) {
    if (level != nullptr) figures.push_back({std::string(what), " B", described, figure(device, key), tolerance});
  };
  const auto bytes = [](const arch::LevelSpec* level) {
    return level == nullptr ? 0.0 : static_cast<double>(level->capacity.n);
  };
  add_level(arch::dram_of(a), "memory", bytes(arch::dram_of(a)), "memory_bytes", kSystems);
  add_level(arch::device_cache_of(a), "device cache", bytes(arch::device_cache_of(a)), "device_cache_bytes", kClose);
  if (const arch::ScratchpadLevel* pad = arch::scratchpad_of(a))
    add_level(pad, "shared memory of a block", static_cast<double>(arch::scratchpad_per_block(*pad).n),
              "shared_per_block_bytes", kClose);
  if (const arch::RegisterLevel* registers = arch::registers_of(a))
    figures.push_back({"registers of a core", "", static_cast<double>(arch::registers_per_core(*registers)),
                       figure(device, "core_registers"), 0});
  if (const arch::DramLevel* dram = arch::dram_of(a))
    figures.push_back(
        {"memory bandwidth", " GB/s", arch::bandwidth_of(a, *dram).v / 1e9,
         figure(device, "memory_clock_khz") * kTransfersAClock * figure(device, "memory_bus_bits") / 8 / 1e6, kClose});
  std::vector<std::string> out;
  for (const Figure& f : figures)
    if (f.found > 0 && std::abs(f.found / f.described - 1) > f.tolerance)
      out.push_back(fmt::format("{}: the device has {:.6g}{}, {} {:.6g}{}", f.what, f.found, f.unit, a.name,
                                f.described, f.unit));
  return out;
}

std::string target_refusal(const std::string& target, const std::string& capability) {
  constexpr std::string_view kPrefix = "sm_";
  const std::string wrong = fmt::format("code for {} does not run on a device of capability {}", target, capability);
  std::string digits = target.starts_with(kPrefix) ? target.substr(kPrefix.size()) : std::string();
  const bool alone = !digits.empty() && (digits.back() < '0' || digits.back() > '9');
  if (alone) digits.pop_back();
  const std::size_t dot = capability.find('.');
  if (digits.size() < 2 || dot == std::string::npos) return wrong;
  const std::string major = digits.substr(0, digits.size() - 1), minor = digits.substr(digits.size() - 1);
  const std::string device_minor = capability.substr(dot + 1);
  if (major != capability.substr(0, dot) || (alone ? device_minor != minor : device_minor < minor)) return wrong;
  return {};
}

}  // namespace tilescope::experiments
