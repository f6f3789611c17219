// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vendor's driver, found while the program runs: its functions by prototypes of our own, every return code checked.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "backends/cuda/library.h"

namespace tilescope::cuda::device {

// What a function of the driver, or of a library on it, said against a call: "cuLaunchKernel: an illegal memory access
// was encountered (700)".
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Address = std::uint64_t;  // in the device's memory

// What is true of a device; docs/measure.md says how each figure is compared with a described chip.
struct DeviceFigures {
  std::string name;
  std::string bus;  // by which other libraries know the device
  int major = 0, minor = 0;
  std::int64_t cores = 0, clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0, memory_bytes = 0;
  std::int64_t device_cache_bytes = 0, shared_per_block_bytes = 0, shared_per_core_bytes = 0;
  std::int64_t block_threads = 0, core_threads = 0, core_registers = 0;
  int cuda = 0;  // that the driver knows: 13000 is 13.0
};

// Functions of the driver; their second names are those of their newest prototypes.
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
  // None before CUDA 12.0.
  int (*encode_tiled)(void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*, const std::uint32_t*,
                      const std::uint32_t*, int, int, int, int);
  // None before CUDA 11.4.
  int (*create_stream)(void**, unsigned);
  int (*destroy_stream)(void*);
  int (*begin_capture)(void*, int);
  int (*end_capture)(void*, void**);
  int (*instantiate_graph)(void**, void*, unsigned long long);
  int (*launch_graph)(void*, void*);
  int (*destroy_graph)(void*);
  int (*destroy_instance)(void*);
};

// The first device of this machine, its context current in the thread that made this.
class Driver {
 public:
  Driver();

  bool ok() const { return refusal_.empty(); }
  // Why nothing can be launched, in a sentence; empty where it can.
  const std::string& why_unsupported() const { return refusal_; }

  const DeviceFigures& device() const { return device_; }
  const DriverFunctions& functions() const { return f_; }
  // Throws a DeviceError that names the function, where the code is none of success.
  void check(int code, const char* function) const;

 private:
  std::string prepare();
  void examine(int device);

  Library library_;
  DriverFunctions f_{};
  DeviceFigures device_;
  std::string refusal_;
};

// Memory of the device, given back at the end.
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

// Launches recorded into one graph, which the driver then starts at once.
class DeviceGraph {
 public:
  // Records what `put` puts on the stream that it is given. Throws a DeviceError where the driver has no graphs.
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

// A cubin on the device.
class DeviceModule {
 public:
  // Throws a DeviceError where the device cannot take it.
  DeviceModule(const Driver& driver, const std::string& path);
  ~DeviceModule();
  DeviceModule(const DeviceModule&) = delete;
  DeviceModule& operator=(const DeviceModule&) = delete;

  // A function that may be launched with so much dynamic shared memory.
  void* function(const std::string& name, std::int64_t shared_bytes) const;

 private:
  const Driver& driver_;
  void* module_ = nullptr;
};

}  // namespace tilescope::cuda::device
