// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/doctor.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "arch/load.h"
#include "backends/cuda/cache.h"
#include "backends/cuda/installed.h"
#include "backends/cuda/toolchain.h"
#include "base/home.h"
#include "expr/suites.h"

namespace tilescope::experiments {
namespace {

Finding devices() {
  const std::size_t n = arch::list_devices().size();
  if (n == 0) return {"devices", false, fmt::format("no chip in {}; is TILESCOPE_HOME right?", arch::devices_folder())};
  return {"devices", true, fmt::format("{} chips in {}", n, arch::devices_folder())};
}

Finding suites() {
  std::string found, wrong;
  for (const std::string_view name : expr::suite_names()) {
    base::Diagnostics diags;
    const auto suite = expr::load_suite(name, base::Dtype::kF32, diags);
    if (suite)
      found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", name, suite->size());
    else
      for (const std::string& line : diags.formatted_errors()) wrong += line + " ";
  }
  return {"suites", wrong.empty(), wrong.empty() ? found : wrong};
}

// Measured times and golden tiles that tests compare with; everything else works without.
Finding shared_data() {
  const char* given = std::getenv("TILESCOPE_SHARED");
  const std::filesystem::path chosen = given != nullptr && *given != '\0' ? given : base::home_path("../shared");
  const std::string folder = chosen.lexically_normal().string();
  std::error_code none;
  const bool present = std::filesystem::is_directory(std::filesystem::path(folder) / "data", none);
  return {"shared data", present,
          present ? folder : fmt::format("no folder {}/data; tests that read it are skipped", folder)};
}

// What `verify` compiles emitted kernels with.
Finding host_compiler() {
  const std::string cache = cuda::default_cache_folder();
  const std::optional<std::string> refusal = cuda::Toolchain(cache).why_unsupported();
  return {"kernels on the CPU", !refusal, refusal ? *refusal : fmt::format("compiled once, kept in {}", cache)};
}

Finding found(const char* part, const cuda::Installed& i) { return {part, i.present, i.detail}; }

// Compiles what `emit --dialect hip` prints.
Finding hip_compiler() {
  const cuda::HipCompiler compiler = cuda::find_hip_compiler();
  return {"HIP", compiler.refusal.empty(), compiler.command + compiler.refusal};
}

}  // namespace

std::vector<Finding> examine() {
  return {devices(),
          suites(),
          shared_data(),
          {"threads", true, fmt::format("{} processors for --jobs", std::thread::hardware_concurrency())},
          {"simulator", true, "in worker processes of this binary"},
          host_compiler(),
          found("NVRTC", cuda::installed_nvrtc()),
          found("CUDA driver", cuda::installed_driver()),
          found("cuBLAS", cuda::installed_cublas()),
          found("cuDNN", cuda::installed_cudnn()),
          hip_compiler(),
          found("NVRTC 11", cuda::installed_nvrtc_of_old_chips()),
          found("nvdisasm", cuda::installed_disassembler())};
}

}  // namespace tilescope::experiments
