// SPDX-License-Identifier: Apache-2.0
// NVML of the fake device: the core's clock falls from look to look, held down by power; the counter of energy moves
// every twentieth of a second, as 400 W do.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/fake_driver/log.h"

namespace {

int device, looks;

constexpr double kWatts = 400;
constexpr int kMovesPerSecond = 20;

unsigned setting(const char* name, unsigned usual) {
  const char* given = std::getenv(name);
  return given != nullptr ? static_cast<unsigned>(std::atol(given)) : usual;
}

int answer(void* handle, unsigned* to, unsigned value) {
  *to = value;
  return handle == &device ? 0 : 2;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "%s", "580.1");
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  *handle = &device;
  return std::strcmp(bus, "0000:01:00.0") == 0 ? 0 : 2;
}
int nvmlDeviceGetClockInfo(void* handle, int which, unsigned* mhz) {
  if (handle != &device) return 2;
  if (which == 1) tilescope::tests::log_line("clocks");
  *mhz = which == 1 ? 1980U - 100U * static_cast<unsigned>(std::min(looks++, 5)) : 3201U;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* mj) {
  const auto now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  const auto moves = static_cast<unsigned long long>(now * kMovesPerSecond);
  *mj = setting("FAKE_DRIVER_ENERGY", 1) == 0 ? 1
                                              : moves * static_cast<unsigned long long>(1e3 * kWatts / kMovesPerSecond);
  return handle == &device ? 0 : 2;
}
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* mw) { return answer(handle, mw, 700'000); }
int nvmlDeviceGetPowerUsage(void* handle, unsigned* mw) { return answer(handle, mw, 71'500); }
int nvmlDeviceGetTemperature(void* handle, int, unsigned* celsius) { return answer(handle, celsius, 34); }
int nvmlDeviceGetMaxClockInfo(void* handle, int which, unsigned* mhz) {
  return answer(handle, mhz, which == 1 ? 1980 : 2619);
}
int nvmlDeviceGetEccMode(void* handle, int* current, int* pending) {
  *current = *pending = 1;
  return handle == &device ? 0 : 2;
}
int nvmlDeviceGetUtilizationRates(void* handle, unsigned* core_and_memory) {
  core_and_memory[1] = 0;
  return answer(handle, core_and_memory, setting("FAKE_DRIVER_UTILIZATION", 0));
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* n, void* processes) {
  const unsigned all = setting("FAKE_DRIVER_PROCESSES", 1);
  if (processes != nullptr) return 2;
  answer(handle, n, all);
  return all == 0 ? 0 : 7;
}

}  // extern "C"
