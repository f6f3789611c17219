// SPDX-License-Identifier: Apache-2.0
// What the fake device says of its clocks: the core's fall from look to look, held down by its power.

#include <cstdio>
#include <cstring>

#include "tests/support/fake_driver/log.h"

namespace {

int device, looks;

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
  *mhz = which == 1 ? 1980U - 100U * static_cast<unsigned>(looks++) : 3201U;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4;
  return 0;
}

}  // extern "C"
