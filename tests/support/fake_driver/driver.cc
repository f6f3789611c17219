// SPDX-License-Identifier: Apache-2.0
// A driver without a GPU: memory is the host's, and a kernel does what its name says. It counts as one device, writes
// every call into the file $FAKE_DRIVER_LOG, and can be told by the environment to be another device. Kernels:
//
//   copy            writes all of its first array from its second one
//   copy_but_last   all but the last element of four bytes
//   copy_wrong      and the first byte is another one
//   fails           an error that this process's device never gets over
//   hangs           never ends
//   crashes         ends the process
//   tilescope_fill, tilescope_differ   make an input and compare two outputs, as the helpers of plans do
//
// and any other one does nothing. An array is a pointer to it, or a tensor map (tensor_maps.cc).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <unistd.h>

#include "backends/cuda/device/elements.h"
#include "tests/support/fake_driver/log.h"

namespace {

constexpr int kInvalid = 1, kOutOfMemory = 2, kNotFound = 500, kIllegalAddress = 700;
constexpr int kUsualShared = 48 << 10;
constexpr int kDevice = 7;  // the first device's handle, which is not its number

struct Function {
  std::string name;
  int max_shared = kUsualShared;
};

std::map<std::uint64_t, std::size_t> allocated;  // bytes by address
int broken = 0;                                  // what every call answers
void* recorded = nullptr;                        // the stream whose launches are recorded
int launches = 0;                                // that were recorded
float ticks_ms = 0;                              // when events are recorded

long setting(const char* name, long usual) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::atol(given) : usual;
}

int called(const std::string& what) {
  tilescope::tests::log_line(what);
  return broken;
}

std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uint64_t>(p); }
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

void fill(void** parameters) {
  auto* to = static_cast<unsigned char*>(pointer(*static_cast<std::uint64_t*>(parameters[0])));
  const std::uint64_t n = *static_cast<std::uint64_t*>(parameters[1]),
                      seed = *static_cast<std::uint64_t*>(parameters[2]);
  const std::uint32_t size = *static_cast<std::uint32_t*>(parameters[3]);
  const auto* kinds = static_cast<const std::uint64_t*>(parameters[4]);
  for (std::uint64_t i = 0; i < n; ++i)
    std::memcpy(to + i * size, kinds + tilescope::cuda::device::whole_input(seed, static_cast<std::int64_t>(i)) + 4,
                size);
}

void differ(void** parameters) {
  const auto at = [&](int p) { return pointer(*static_cast<std::uint64_t*>(parameters[p])); };
  const auto *a = static_cast<const unsigned char*>(at(0)), *b = static_cast<const unsigned char*>(at(1));
  const std::uint64_t n = *static_cast<std::uint64_t*>(parameters[2]);
  const auto place = static_cast<std::uint64_t>(std::mismatch(a, a + n, b).first - a);
  if (place < n) *static_cast<std::uint64_t*>(at(3)) = place;
}

void run(const std::string& name, void** parameters) {
  if (name == "fails") broken = kIllegalAddress;
  if (name == "hangs") pause();
  if (name == "crashes") std::abort();
  if (name == "tilescope_fill") fill(parameters);
  if (name == "tilescope_differ") differ(parameters);
  if (!name.starts_with("copy")) return;
  const std::uint64_t to = *static_cast<std::uint64_t*>(parameters[0]);
  const std::uint64_t from = *static_cast<std::uint64_t*>(parameters[1]);
  std::memcpy(pointer(to), pointer(from), allocated.at(to) - (name == "copy_but_last" ? 4 : 0));
  if (name == "copy_wrong") ++*static_cast<unsigned char*>(pointer(to));
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  if (setting("FAKE_DRIVER_HANGS", 0) != 0) pause();
  return called("cuInit");
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* n) {
  *n = static_cast<int>(setting("FAKE_DRIVER_DEVICES", 1));
  return 0;
}
int cuDeviceGet(int* device, int number) {
  *device = kDevice;
  return number == 0 ? 0 : kInvalid;
}
int cuDeviceGetName(char* name, int bytes, int device) {
  if (device != kDevice) return kInvalid;
  const char* given = std::getenv("FAKE_DRIVER_NAME");
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", given != nullptr ? given : "Fake 1");
  return 0;
}
int cuDeviceGetAttribute(int* value, int which, int device) {
  const std::map<int, long> figures = {
      {1, 1024},      {13, 1980000}, {16, setting("FAKE_DRIVER_CORES", 132)}, {36, 3201000}, {37, 6144},
      {38, 62914560}, {39, 2048},    {75, setting("FAKE_DRIVER_MAJOR", 9)},   {76, 0},       {81, 233472},
      {82, 65536},    {97, 232448}};
  const auto found = figures.find(which);
  if (device != kDevice || found == figures.end()) return kInvalid;
  *value = static_cast<int>(found->second);
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  *bytes = static_cast<std::size_t>(setting("FAKE_DRIVER_MEMORY", 1L << 30));
  return device == kDevice ? 0 : kInvalid;
}
int cuDeviceGetPCIBusId(char* id, int bytes, int device) {
  std::snprintf(id, static_cast<std::size_t>(bytes), "%s", "0000:01:00.0");
  return device == kDevice ? 0 : kInvalid;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &allocated;
  return device == kDevice ? called("cuDevicePrimaryCtxRetain") : kInvalid;
}
int cuCtxSetCurrent(void* context) { return context == &allocated ? called("cuCtxSetCurrent") : kInvalid; }
int cuCtxSynchronize() { return called("cuCtxSynchronize"); }
int cuModuleLoadData(void** module, const void* image) {
  *module = new std::string(static_cast<const char*>(image));
  return called("cuModuleLoadData");
}
int cuModuleUnload(void* module) {
  delete static_cast<std::string*>(module);
  return called("cuModuleUnload");
}
// A module is a text that holds its functions' names; code for a chip has any function.
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const std::string& text = *static_cast<std::string*>(module);
  if (!text.starts_with("\x7f"
                        "ELF") &&
      text.find(name) == std::string::npos)
    return kNotFound;
  *function = new Function{name};
  return broken;
}
int cuFuncSetAttribute(void* function, int which, int value) {
  if (which != 8) return kInvalid;
  static_cast<Function*>(function)->max_shared = value;
  return called("cuFuncSetAttribute");
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) return kOutOfMemory;
  *address = address_of(memory);
  allocated[*address] = bytes;
  return called("cuMemAlloc");
}
int cuMemFree_v2(std::uint64_t address) {
  allocated.erase(address);
  std::free(pointer(address));
  return called("cuMemFree");
}
int cuMemGetInfo_v2(std::size_t* there, std::size_t* all) {
  cuDeviceTotalMem_v2(all, kDevice);
  *there = *all;
  for (const auto& [address, bytes] : allocated) *there -= bytes;
  return broken;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(pointer(to), from, bytes);
  return called("cuMemcpyHtoD");
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, pointer(from), bytes);
  return called("cuMemcpyDtoH");
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void*) {
  std::memcpy(pointer(to), pointer(from), bytes);
  return called("cuMemcpyDtoD");
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void*) {
  std::memset(pointer(to), value, bytes);
  return called("cuMemsetD8");
}
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared,
                   void* stream, void** parameters, void**) {
  const auto& f = *static_cast<Function*>(function);
  if (static_cast<int>(shared) > f.max_shared || threads > 1024 || stream != recorded) return kInvalid;
  if (stream != nullptr) {
    ++launches;
    return called("record " + f.name);
  }
  const int answer = called("launch " + f.name);
  usleep(static_cast<unsigned>(1000 * setting("FAKE_DRIVER_LAUNCH_MS", 0)));
  if (answer == 0) run(f.name, parameters);
  return answer;
}
int cuEventCreate(void** event, unsigned) {
  *event = new float(0);
  return broken;
}
// A hundredth of a millisecond between any two events, and more each time.
int cuEventRecord(void* event, void*) {
  static int n = 0;
  ticks_ms += 0.01F + 0.001F * static_cast<float>(n++ / 2);
  *static_cast<float*>(event) = ticks_ms;
  return called("cuEventRecord");
}
int cuEventSynchronize(void*) { return called("cuEventSynchronize"); }
int cuEventElapsedTime(float* ms, void* from, void* to) {
  *ms = *static_cast<float*>(to) - *static_cast<float*>(from);
  return broken;
}
// A graph is what was launched on the stream that records: its launches run when the graph does.
int cuStreamCreate(void** stream, unsigned) {
  *stream = new int(0);
  return called("cuStreamCreate");
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<int*>(stream);
  return broken;
}
int cuStreamBeginCapture_v2(void* stream, int mode) {
  recorded = stream;
  return mode == 2 ? called("cuStreamBeginCapture") : kInvalid;
}
int cuStreamEndCapture(void* stream, void** graph) {
  if (stream != recorded) return kInvalid;
  recorded = nullptr;
  *graph = &launches;
  return called("cuStreamEndCapture");
}
int cuGraphInstantiateWithFlags(void** instance, void* graph, unsigned long long) {
  *instance = graph;
  return called("cuGraphInstantiate");
}
int cuGraphLaunch(void* instance, void* stream) {
  if (instance != &launches || stream != nullptr) return kInvalid;
  return called("cuGraphLaunch " + std::to_string(launches));
}
int cuGraphDestroy(void*) {
  launches = 0;
  return broken;
}
int cuGraphExecDestroy(void*) { return broken; }
int cuGetErrorString(int code, const char** text) {
  *text = code == kInvalid          ? "invalid argument"
          : code == kIllegalAddress ? "an illegal memory access was encountered"
          : code == kNotFound       ? "named symbol not found"
                                    : "another error";
  return 0;
}

}  // extern "C"
