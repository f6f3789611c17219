// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/installed.h"

#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/detail/driver_version.h"
#include "backends/cuda/library.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/process.h"

namespace tilescope::cuda {
namespace {

// The functions of cuda.h that are called here: their types are part of the driver's binary interface, 0 is success.
struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*version)(int* version) = nullptr;
  int (*count)(int* devices) = nullptr;
  int (*device)(int* handle, int number) = nullptr;
  int (*name)(char* text, int bytes, int handle) = nullptr;
  int (*words_of)(int error, const char** text) = nullptr;

  bool find_in(const Library& l) {
    return l.find("cuInit", init) && l.find("cuDriverGetVersion", version) && l.find("cuDeviceGetCount", count) &&
           l.find("cuDeviceGet", device) && l.find("cuDeviceGetName", name) && l.find("cuGetErrorString", words_of);
  }
};

std::string words_of(const Driver& d, int error) {
  constexpr int kStub = 34;
  if (error == kStub) return "it is the toolkit's stub, which programs are linked with and no GPU is behind";
  const char* text = nullptr;
  if (d.words_of(error, &text) == 0 && text != nullptr) return fmt::format("error {}, {}", error, text);
  return fmt::format("error {}", error);
}

std::string driver_version(const Driver& d) {
  int version = 0;
  d.version(&version);
  return version_text(version);
}

std::vector<std::string> devices_of(const Driver& d) {
  std::vector<std::string> out;
  int count = 0;
  d.count(&count);
  for (int number = 0; number < count; ++number) {
    int handle = 0;
    char name[256] = {};
    if (d.device(&handle, number) == 0 && d.name(name, sizeof name, handle) == 0) out.emplace_back(name);
  }
  return out;
}

}  // namespace

Installed installed_nvrtc() {
  const DeviceCompiler compiler;
  if (!compiler.why_unsupported().empty()) return {false, compiler.why_unsupported()};
  return {true,
          fmt::format("{} in {}, for {}", compiler.version(), compiler.path(), fmt::join(compiler.targets(), " "))};
}

Installed installed_driver() {
  const Library library({"libcuda.so.1"});
  Driver d;
  if (!library.ok()) return {false, library.why_unsupported()};
  if (!d.find_in(library)) return {false, fmt::format("{} lacks functions of a driver", library.path())};
  if (const int error = d.init(0); error != 0)
    return {false, fmt::format("{} does not start: {}", library.path(), words_of(d, error))};
  const std::vector<std::string> devices = devices_of(d);
  return {!devices.empty(), fmt::format("CUDA {} by {}: {}", driver_version(d), library.path(),
                                        devices.empty() ? "no GPU" : fmt::format("{}", fmt::join(devices, ", ")))};
}

Installed installed_cublas() {
  const Library library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});
  if (!library.ok()) return {false, library.why_unsupported()};
  int (*property)(int which, int* value) = nullptr;
  if (!library.find("cublasGetProperty", property)) return {false, library.path() + " does not tell its version"};
  int version[3] = {};  // major, minor, patch
  for (int i = 0; i < 3; ++i) property(i, &version[i]);
  return {true, fmt::format("{} in {}", fmt::join(version, "."), library.path())};
}

// 91300 is 9.13.0; before version 9, 8907 was 8.9.7.
Installed installed_cudnn() {
  const Library library({"libcudnn.so.9", "libcudnn.so.8"});
  if (!library.ok()) return {false, library.why_unsupported()};
  std::size_t (*get_version)() = nullptr;
  if (!library.find("cudnnGetVersion", get_version)) return {false, library.path() + " does not tell its version"};
  const std::size_t v = get_version(), major = v < 10000 ? 1000 : 10000;
  return {true, fmt::format("{}.{}.{} in {}", v / major, v % major / 100, v % 100, library.path())};
}

Installed installed_nvrtc_of_old_chips() {
  const Library library({"libnvrtc.so.11.2"});
  if (!library.ok()) return {false, library.why_unsupported() + " (Debian, non-free: libnvrtc11.2)"};
  int (*version)(int* major, int* minor) = nullptr;
  if (!library.find("nvrtcVersion", version)) return {false, library.path() + " does not tell its version"};
  int major = 0, minor = 0;
  version(&major, &minor);
  return {true, fmt::format("{}.{} in {}", major, minor, library.path())};
}

Installed installed_disassembler() {
  const std::string answer = run_program({"nvdisasm", "--version"}).output;
  constexpr std::string_view kRelease = "release ";
  const std::size_t at = answer.find(kRelease);
  if (at == std::string::npos)
    return {false, "no nvdisasm on $PATH prints its release (Debian, non-free: nvidia-cuda-toolkit)"};
  const std::size_t begin = at + kRelease.size();
  return {true, fmt::format("nvdisasm {}", answer.substr(begin, answer.find_first_of(",\n", begin) - begin))};
}

HipCompiler find_hip_compiler() {
  std::vector<std::string> commands = {"clang++-19", "clang++"};
  if (const std::string chosen = environment("HIPCXX"); !chosen.empty()) commands.insert(commands.begin(), chosen);
  for (const std::string& command : commands)
    if (run_program({command, "--print-targets"}).output.find("amdgcn") != std::string::npos) return {command, {}};
  return {
      {},
      fmt::format("none of {} compiles for AMD's amdgcn; $HIPCXX may name one that does", fmt::join(commands, ", "))};
}

}  // namespace tilescope::cuda
