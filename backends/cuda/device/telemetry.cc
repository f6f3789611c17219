// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/telemetry.h"

#include <utility>

namespace tilescope::cuda::device {
namespace {

// Numbers of the library's interface.
constexpr int kCoreClock = 1, kMemoryClock = 2;
constexpr std::pair<unsigned long long, const char*> kHolders[] = {
    {0x2, "settings"}, {0x4, "power"}, {0x8, "hardware"},    {0x10, "synchronous boost"},
    {0x20, "heat"},    {0x40, "heat"}, {0x80, "power brake"}};

}  // namespace

Telemetry::Telemetry(const std::string& bus) : library_({"libnvidia-ml.so.1"}) {
  int (*init)() = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  int (*device_of)(const char*, void**) = nullptr;
  if (!library_.find("nvmlInit_v2", init) || init() != 0) return;
  char text[96] = {};
  if (library_.find("nvmlSystemGetDriverVersion", version) && version(text, sizeof(text) - 1) == 0)
    driver_version_ = text;
  library_.find("nvmlDeviceGetClockInfo", clock_);
  if (!library_.find("nvmlDeviceGetCurrentClocksEventReasons", held_))
    library_.find("nvmlDeviceGetCurrentClocksThrottleReasons", held_);
  if (!library_.find("nvmlDeviceGetHandleByPciBusId_v2", device_of) || device_of(bus.c_str(), &device_) != 0)
    device_ = nullptr;
}

std::optional<Clocks> Telemetry::clocks() const {
  Clocks out;
  if (device_ == nullptr || clock_ == nullptr || clock_(device_, kCoreClock, &out.core_mhz) != 0 ||
      clock_(device_, kMemoryClock, &out.memory_mhz) != 0)
    return std::nullopt;
  unsigned long long reasons = 0;
  if (held_ != nullptr && held_(device_, &reasons) == 0)
    for (const auto& [bit, word] : kHolders)
      if ((reasons & bit) != 0 && out.held.find(word) == std::string::npos)
        out.held += (out.held.empty() ? "" : " ") + std::string(word);
  return out;
}

}  // namespace tilescope::cuda::device
