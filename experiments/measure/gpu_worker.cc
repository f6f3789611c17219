// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/detail/gpu_worker.h"

#include <filesystem>

#include <fmt/format.h>

#include "backends/cuda/device/supervise.h"
#include "backends/cuda/process.h"

namespace tilescope::experiments {
namespace {

// Beside the running program, or beside the folder that it stands in, as tests do.
std::string worker_path() {
  namespace fs = std::filesystem;
  std::error_code none;
  constexpr const char* kName = "tilescope_gpu";
  for (fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path(); folder.has_relative_path();
       folder = folder.parent_path())
    if (fs::exists(folder / kName, none)) return (folder / kName).string();
  return kName;
}

}  // namespace

int run_gpu_worker(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& line) {
  std::vector<std::string> words = {worker_path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const cuda::Finished worker = cuda::run_program(words, line);
  if (worker.status >= 0) return worker.status;
  fmt::print(stderr, "{}\n", worker.output);
  return cuda::device::kNoDevice;
}

}  // namespace tilescope::experiments
