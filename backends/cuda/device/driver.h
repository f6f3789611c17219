// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vendor's driver, loaded at run time: its functions have prototypes here, and every return code is checked.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "backends/cuda/library.h"

namespace tilescope::cuda::device {

// The error of a call to the driver or to a library on top of it: "cuLaunchKernel: an illegal memory access was
// encountered (700)".
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Address = std::uint64_t;  // in device memory

// Properties of a device; docs/accuracy.md says how each figure is compared with a described chip.
struct DeviceFigures {
  std::string name;
  std::string bus;  // PCI bus id, by which other libraries identify the device
  int major = 0, minor = 0;
  std::int64_t cores = 0, clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0, memory_bytes = 0;
  std::int64_t device_cache_bytes = 0, shared_per_block_bytes = 0, shared_per_core_bytes = 0;
  std::int64_t block_threads = 0, core_threads = 0, core_registers = 0;
  int cuda = 0;  // version that the driver supports: 13000 is 13.0
};

// Functions of the driver, looked up by the names of their newest prototypes (cuMemAlloc_v2).
struct DriverFunctions {
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  int (*device_of)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*device_memory)(std::size_t*, int);
  int (*device_bus)(char*, int, int);
  int (*retain_context)(void**, int);
  int (*set_context)(void*);
  int (*synchronize)();
  int (*load_module)(void**, const void*);
  int (*unload_module)(void*);
  int (*function_of)(void**, void*, const char*);
  int (*set_function)(void*, int, int);
  int (*allocate)(Address*, std::size_t);
  int (*release)(Address);
  int (*free_memory)(std::size_t*, std::size_t*);
  int (*to_device)(Address, const void*, std::size_t);
  int (*from_device)(void*, Address, std::size_t);
  int (*copy)(Address, Address, std::size_t, void*);
  int (*fill)(Address, unsigned char, std::size_t, void*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*create_event)(void**, unsigned);
  int (*record)(void*, void*);
  int (*elapsed)(float*, void*, void*);
  int (*wait_event)(void*);
  int (*error_text)(int, const char**);
  // Null before CUDA 12.0.
  int (*encode_tiled)(void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*, const std::uint32_t*,
                      const std::uint32_t*, int, int, int, int);
  // Null before CUDA 11.4.
  int (*create_stream)(void**, unsigned);
  int (*destroy_stream)(void*);
  int (*begin_capture)(void*, int);
  int (*end_capture)(void*, void**);
  int (*instantiate_graph)(void**, void*, unsigned long long);
  int (*launch_graph)(void*, void*);
  int (*destroy_graph)(void*);
  int (*destroy_instance)(void*);
};

// The driver and the first device of this machine. The device's context is current in the constructing thread.
class Driver {
 public:
  Driver();

  bool ok() const { return refusal_.empty(); }
  // Why nothing can be launched, as a sentence; empty where launches are possible.
  const std::string& why_unsupported() const { return refusal_; }

  const DeviceFigures& device() const { return device_; }
  const DriverFunctions& functions() const { return f_; }
  // Throws a DeviceError that names the function where `code` is not 0 (success).
  void check(int code, const char* function) const;

 private:
  std::string prepare();
  void examine(int device);

  Library library_;
  DriverFunctions f_{};
  DeviceFigures device_;
  std::string refusal_;
};

// Memory of the device, freed by the destructor.
class DeviceMemory {
 public:
  DeviceMemory(const Driver& driver, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const Driver& driver_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

// Launches captured in one graph, which the driver starts as a unit.
class DeviceGraph {
 public:
  // Captures what `put` puts on the stream that it receives. Throws a DeviceError where the driver has no graphs.
  DeviceGraph(const Driver& driver, const std::function<void(void* stream)>& put);
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  void launch() const;

 private:
  void release() const;

  const Driver& driver_;
  void *stream_ = nullptr, *graph_ = nullptr, *instance_ = nullptr;
};

// A cubin that is loaded on the device.
class DeviceModule {
 public:
  // Throws a DeviceError where the file cannot be read or the device cannot load it.
  DeviceModule(const Driver& driver, const std::string& path);
  ~DeviceModule();
  DeviceModule(const DeviceModule&) = delete;
  DeviceModule& operator=(const DeviceModule&) = delete;

  // The kernel `name`, which may be launched with `shared_bytes` of dynamic shared memory.
  void* function(const std::string& name, std::int64_t shared_bytes) const;

 private:
  const Driver& driver_;
  void* module_ = nullptr;
};

}  // namespace tilescope::cuda::device
