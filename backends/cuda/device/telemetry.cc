// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/telemetry.h"

#include <utility>

namespace tilescope::cuda::device {
namespace {

// Numbers of the library's interface, nvml.h: NVML_CLOCK_SM and NVML_CLOCK_MEM.
constexpr int kNvmlCoreClock = 1, kNvmlMemoryClock = 2;
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
  if (device_ == nullptr || clock_ == nullptr || clock_(device_, kNvmlCoreClock, &out.core_mhz) != 0 ||
      clock_(device_, kNvmlMemoryClock, &out.memory_mhz) != 0)
    return std::nullopt;
  unsigned long long reasons = 0;
  if (held_ != nullptr && held_(device_, &reasons) == 0)
    for (const auto& [bit, word] : kHolders)
      if ((reasons & bit) != 0 && out.held.find(word) == std::string::npos)
        out.held += (out.held.empty() ? "" : " ") + std::string(word);
  return out;
}

template <class Number>
std::optional<Number> Telemetry::value_of(const char* function) const {
  int (*get)(void*, Number*) = nullptr;
  Number value{};
  if (device_ == nullptr || !library_.find(function, get) || get(device_, &value) != 0) return std::nullopt;
  return value;
}

std::optional<double> Telemetry::energy_j() const {
  const auto mj = value_of<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
  return mj ? std::optional(static_cast<double>(*mj) / 1e3) : std::nullopt;
}

std::optional<std::int64_t> Telemetry::temperature_c() const {
  constexpr int kCoreSensor = 0;
  int (*get)(void*, int, unsigned*) = nullptr;
  unsigned value = 0;
  if (device_ == nullptr || !library_.find("nvmlDeviceGetTemperature", get) || get(device_, kCoreSensor, &value) != 0)
    return std::nullopt;
  return value;
}

BoardState Telemetry::board() const {
  constexpr int kTooFewEntries = 7;  // what the library answers where it only counts
  struct Utilization {
    unsigned core = 0, memory = 0;
  };
  BoardState out;
  const auto watts = [](std::optional<unsigned> mw) { return mw ? std::optional(*mw / 1e3) : std::nullopt; };
  out.power_limit_w = watts(value_of<unsigned>("nvmlDeviceGetEnforcedPowerLimit"));
  out.power_w = watts(value_of<unsigned>("nvmlDeviceGetPowerUsage"));
  out.temperature_c = temperature_c();
  if (const auto u = value_of<Utilization>("nvmlDeviceGetUtilizationRates")) out.utilization_percent = u->core;
  if (device_ == nullptr) return out;
  int current = 0, pending = 0;
  int (*ecc)(void*, int*, int*) = nullptr;
  if (library_.find("nvmlDeviceGetEccMode", ecc) && ecc(device_, &current, &pending) == 0) out.ecc = current != 0;
  int (*most)(void*, int, unsigned*) = nullptr;
  unsigned mhz = 0;
  if (library_.find("nvmlDeviceGetMaxClockInfo", most)) {
    if (most(device_, kNvmlCoreClock, &mhz) == 0) out.max_core_mhz = mhz;
    if (most(device_, kNvmlMemoryClock, &mhz) == 0) out.max_memory_mhz = mhz;
  }
  int (*running)(void*, unsigned*, void*) = nullptr;
  unsigned n = 0;
  if (library_.find("nvmlDeviceGetComputeRunningProcesses_v3", running)) {
    const int status = running(device_, &n, nullptr);
    if (status == 0 || status == kTooFewEntries) out.processes = n;
  }
  return out;
}

}  // namespace tilescope::cuda::device
