// SPDX-License-Identifier: Apache-2.0
// A driver whose device is the CPU: a module is the path of a shared object, whose kernels run as `verify` runs them
// (backends/cuda/host). The clock of its events counts launches, a microsecond each.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

#include "backends/cuda/host/boxes.h"
#include "backends/cuda/host/machine.h"

namespace {

namespace host = tilescope::cuda::host;

constexpr int kInvalid = 1, kNotFound = 500;

struct Function {
  std::string name;
  void (*call)(void** parameters) = nullptr;
  long long cluster = 1;  // blocks of a cluster
};

// What runs.
void (*running)(void** parameters) = nullptr;
void** parameters_of_running = nullptr;
long launches = 0;

void call(void* const*, const double*) { running(parameters_of_running); }

}  // namespace

// NOLINTBEGIN: the names are the driver's.
extern "C" {

int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* device, int number) {
  *device = 0;
  return number == 0 ? 0 : kInvalid;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "the CPU");
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &launches;
  return 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuModuleLoadData(void** module, const void* image) {
  *module = dlopen(static_cast<const char*>(image), RTLD_NOW);
  if (*module == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  return *module == nullptr ? kNotFound : 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  void* found = dlsym(module, (std::string("tilescope_cpu_") + name).c_str());
  const void* cluster = dlsym(module, (std::string("tilescope_cluster_") + name).c_str());
  if (found == nullptr || cluster == nullptr) return kNotFound;
  auto* out = new Function{name, nullptr, *static_cast<const long long*>(cluster)};
  std::memcpy(&out->call, &found, sizeof(found));
  *function = out;
  return 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes) != 0) return kInvalid;
  std::memset(memory, 0xff, bytes);  // not-a-number: what no kernel wrote
  *address = reinterpret_cast<std::uint64_t>(memory);
  return 0;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned shared_bytes, void*, void** parameters, void**) {
  const auto* f = static_cast<const Function*>(function);
  static host::Random random(1);
  constexpr int kWarp = 32, kNoLine = 0;
  const host::KernelEntry entry{f->name.c_str(), blocks, f->cluster, threads, shared_bytes, 1, 0,
                                &kNoLine,        0,      &kNoLine,   &call};
  running = f->call;
  parameters_of_running = parameters;
  host::run_kernel(entry, kWarp, {}, {}, random);
  ++launches;
  return 0;
}
// What cuda.h calls CUlaunchConfig.
struct LaunchConfig {
  unsigned blocks, blocks_y, blocks_z, threads, threads_y, threads_z, shared_bytes;
  void *stream, *attributes;
  unsigned attribute_count;
};
int cuLaunchKernelEx(const LaunchConfig* c, void* function, void** parameters, void** extra) {
  return cuLaunchKernel(function, c->blocks, c->blocks_y, c->blocks_z, c->threads, c->threads_y, c->threads_z,
                        c->shared_bytes, c->stream, parameters, extra);
}
int cuGetErrorName(int code, const char** name) {
  *name = code == kInvalid ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_NOT_FOUND";
  return 0;
}
int cuEventCreate(void** event, unsigned) {
  *event = new long(0);
  return 0;
}
int cuEventRecord(void* event, void*) {
  *static_cast<long*>(event) = launches;
  return 0;
}
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* ms, void* begin, void* end) {
  *ms = 1e-3F * static_cast<float>(*static_cast<long*>(end) - *static_cast<long*>(begin));
  return 0;
}
int cuEventElapsedTime_v2(float* ms, void* begin, void* end) { return cuEventElapsedTime(ms, begin, end); }
int cuTensorMapEncodeTiled(void* map, int element, unsigned rank, void* begin, const std::uint64_t* extents,
                           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t*, int,
                           int swizzle, int, int) {
  constexpr std::array<int, 10> kBytes = {1, 2, 4, 4, 4, 8, 2, 4, 8, 2};  // by the number of the element
  if (element < 0 || element >= 10 || rank < 1 || rank > 5) return kInvalid;
  auto* out = new tilescope_tensor_map{};
  out->begin = begin;
  out->element_bytes = kBytes[static_cast<std::size_t>(element)];
  out->swizzled_row = swizzle == 0 ? 0 : 16 << swizzle;
  out->dims = static_cast<int>(rank);
  for (unsigned d = 0; d < rank; ++d) {
    out->extent[d] = static_cast<long long>(extents[d]);
    out->stride[d] = d == 0 ? 1 : static_cast<long long>(strides[d - 1]) / out->element_bytes;
    out->box[d] = box[d];
  }
  std::memcpy(map, &out, sizeof(out));
  return 0;
}
}
// NOLINTEND
