// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/driver.h"

#include <utility>

#include "backends/cuda/device/plan.h"

namespace tilescope::cuda::device {
namespace {

// Numbers of the driver's interface, which never change.
enum Attribute : int {
  kBlockThreads = 1,
  kClock = 13,
  kCores = 16,
  kMemoryClock = 36,
  kMemoryBus = 37,
  kDeviceCache = 38,
  kCoreThreads = 39,
  kMajor = 75,
  kMinor = 76,
  kCoreShared = 81,
  kCoreRegisters = 82,
  kBlockSharedOnDemand = 97,
};
constexpr int kMaxDynamicShared = 8;             // attribute of a function
constexpr std::int64_t kUsualShared = 48 << 10;  // that a block may have without being asked for

}  // namespace

Driver::Driver() : library_({"libcuda.so.1"}) { refusal_ = prepare(); }

std::string Driver::prepare() {
  if (!library_.ok()) return "no driver of a GPU: " + library_.why_unsupported();
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    if (!library_.find(name, function)) missing += std::string(missing.empty() ? "" : ", ") + name;
  };
  find("cuInit", f_.init);
  find("cuDriverGetVersion", f_.driver_version);
  find("cuDeviceGetCount", f_.device_count);
  find("cuDeviceGet", f_.device_of);
  find("cuDeviceGetName", f_.device_name);
  find("cuDeviceGetAttribute", f_.device_attribute);
  find("cuDeviceTotalMem_v2", f_.device_memory);
  find("cuDeviceGetPCIBusId", f_.device_bus);
  find("cuDevicePrimaryCtxRetain", f_.retain_context);
  find("cuCtxSetCurrent", f_.set_context);
  find("cuCtxSynchronize", f_.synchronize);
  find("cuModuleLoadData", f_.load_module);
  find("cuModuleUnload", f_.unload_module);
  find("cuModuleGetFunction", f_.function_of);
  find("cuFuncSetAttribute", f_.set_function);
  find("cuMemAlloc_v2", f_.allocate);
  find("cuMemFree_v2", f_.release);
  find("cuMemGetInfo_v2", f_.free_memory);
  find("cuMemcpyHtoD_v2", f_.to_device);
  find("cuMemcpyDtoH_v2", f_.from_device);
  find("cuMemcpyDtoDAsync_v2", f_.copy);
  find("cuMemsetD8Async", f_.fill);
  find("cuLaunchKernel", f_.launch);
  find("cuEventCreate", f_.create_event);
  find("cuEventRecord", f_.record);
  find("cuEventElapsedTime", f_.elapsed);
  find("cuEventSynchronize", f_.wait_event);
  find("cuGetErrorString", f_.error_text);
  library_.find("cuTensorMapEncodeTiled", f_.encode_tiled);
  library_.find("cuStreamCreate", f_.create_stream);
  library_.find("cuStreamDestroy_v2", f_.destroy_stream);
  library_.find("cuStreamBeginCapture_v2", f_.begin_capture);
  library_.find("cuStreamEndCapture", f_.end_capture);
  library_.find("cuGraphInstantiateWithFlags", f_.instantiate_graph);
  library_.find("cuGraphLaunch", f_.launch_graph);
  library_.find("cuGraphDestroy", f_.destroy_graph);
  library_.find("cuGraphExecDestroy", f_.destroy_instance);
  if (!missing.empty()) return library_.path() + " lacks " + missing;
  try {
    check(f_.init(0), "cuInit");
    int devices = 0;
    check(f_.device_count(&devices), "cuDeviceGetCount");
    if (devices == 0) return library_.path() + " finds no GPU";
    int device = 0;
    check(f_.device_of(&device, 0), "cuDeviceGet");
    examine(device);
    void* context = nullptr;
    check(f_.retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    check(f_.set_context(context), "cuCtxSetCurrent");
  } catch (const DeviceError& e) {
    return library_.path() + ": " + e.what();
  }
  return {};
}

void Driver::examine(int device) {
  char text[256] = {};
  check(f_.device_name(text, sizeof(text) - 1, device), "cuDeviceGetName");
  device_.name = text;
  check(f_.device_bus(text, sizeof(text) - 1, device), "cuDeviceGetPCIBusId");
  device_.bus = text;
  check(f_.driver_version(&device_.cuda), "cuDriverGetVersion");
  std::size_t memory = 0;
  check(f_.device_memory(&memory, device), "cuDeviceTotalMem");
  device_.memory_bytes = static_cast<std::int64_t>(memory);
  const auto attribute = [&](Attribute which) {
    int value = 0;
    check(f_.device_attribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  device_.major = attribute(kMajor);
  device_.minor = attribute(kMinor);
  device_.cores = attribute(kCores);
  device_.clock_khz = attribute(kClock);
  device_.memory_clock_khz = attribute(kMemoryClock);
  device_.memory_bus_bits = attribute(kMemoryBus);
  device_.device_cache_bytes = attribute(kDeviceCache);
  device_.shared_per_block_bytes = attribute(kBlockSharedOnDemand);
  device_.shared_per_core_bytes = attribute(kCoreShared);
  device_.block_threads = attribute(kBlockThreads);
  device_.core_threads = attribute(kCoreThreads);
  device_.core_registers = attribute(kCoreRegisters);
}

void Driver::check(int code, const char* function) const {
  if (code == 0) return;
  const char* text = nullptr;
  const bool known = f_.error_text(code, &text) == 0 && text != nullptr;
  throw DeviceError(std::string(function) + ": " + (known ? text : "an error without a name") + " (" +
                    std::to_string(code) + ")");
}

DeviceMemory::DeviceMemory(const Driver& driver, std::size_t bytes) : driver_(driver), bytes_(bytes) {
  driver.check(driver.functions().allocate(&address_, bytes), "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) driver_.functions().release(address_);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : driver_(other.driver_), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}

DeviceGraph::DeviceGraph(const Driver& driver, const std::function<void(void* stream)>& put) : driver_(driver) {
  const DriverFunctions& f = driver.functions();
  if (f.instantiate_graph == nullptr || f.begin_capture == nullptr || f.create_stream == nullptr)
    throw DeviceError("the driver has no graphs of launches: CUDA 11.4 has them");
  constexpr int kRelaxed = 2;  // a number of the driver's interface: other calls stay allowed during the capture
  try {
    driver.check(f.create_stream(&stream_, 0), "cuStreamCreate");
    driver.check(f.begin_capture(stream_, kRelaxed), "cuStreamBeginCapture");
    put(stream_);
    driver.check(f.end_capture(stream_, &graph_), "cuStreamEndCapture");
    driver.check(f.instantiate_graph(&instance_, graph_, 0), "cuGraphInstantiateWithFlags");
  } catch (const DeviceError&) {
    release();
    throw;
  }
}

DeviceGraph::~DeviceGraph() { release(); }

void DeviceGraph::release() const {
  const DriverFunctions& f = driver_.functions();
  if (instance_ != nullptr) f.destroy_instance(instance_);
  if (graph_ != nullptr) f.destroy_graph(graph_);
  if (stream_ != nullptr) f.destroy_stream(stream_);
}

void DeviceGraph::launch() const {
  driver_.check(driver_.functions().launch_graph(instance_, nullptr), "cuGraphLaunch");
}

DeviceModule::DeviceModule(const Driver& driver, const std::string& path) : driver_(driver) {
  const auto bytes = bytes_of(path);
  if (!bytes) throw DeviceError(path + " cannot be read");
  driver.check(driver.functions().load_module(&module_, bytes->c_str()), "cuModuleLoadData");
}

DeviceModule::~DeviceModule() {
  if (module_ != nullptr) driver_.functions().unload_module(module_);
}

void* DeviceModule::function(const std::string& name, std::int64_t shared_bytes) const {
  void* out = nullptr;
  driver_.check(driver_.functions().function_of(&out, module_, name.c_str()), "cuModuleGetFunction");
  if (shared_bytes > kUsualShared)
    driver_.check(driver_.functions().set_function(out, kMaxDynamicShared, static_cast<int>(shared_bytes)),
                  "cuFuncSetAttribute");
  return out;
}

}  // namespace tilescope::cuda::device
