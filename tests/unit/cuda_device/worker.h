// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program that runs plans, on a driver without a GPU (tests/support/fake_driver): a fixture that writes plans, runs
// them and reads rows and calls.

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/device/elements.h"
#include "backends/cuda/process.h"
#include "tests/support/paths.h"

namespace tilescope::tests {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

inline std::vector<std::string> those_of(const std::vector<std::string>& calls, const std::string& library) {
  std::vector<std::string> out;
  for (const std::string& c : calls)
    if (c.starts_with(library)) out.push_back(c);
  return out;
}

class Worker : public testing::Test {
 protected:
  Worker() {
    cuda::write_file(folder_.file("m.cubin"), "copy copy_but_last copy_wrong fails hangs crashes nothing");
    cuda::write_file(folder_.file("helpers.cubin"), "tilescope_read tilescope_fill tilescope_differ");
  }

  // A task that copies A to C by the kernel, and expects it.
  static std::string task(const std::string& id, const std::string& kernel, const std::string& more = "") {
    std::string out = "task " + id + "\nmodule m.cubin\narray A f32 64 input 7\narray C f32 64 output\nlaunch " +
                      kernel + " 2 32 0 C A\ncheck C 0\n";
    for (const int i : {0, 1, 40})
      out += "expect " + std::to_string(i) + " " + std::to_string(cuda::device::whole_input(7, i) / 4.0) + "\n";
    return out + more;
  }

  cuda::Finished run(const std::string& tasks, const std::vector<std::string>& settings = {},
                     const std::vector<std::string>& options = {}) {
    cuda::write_file(folder_.file("plan"), "tilescope plan 1\nhelpers helpers.cubin\nnote chip fake\n" + tasks);
    std::vector<std::string> words = {"env", "TILESCOPE_CUDA_PATH=" + fake_driver_path().string(),
                                      "FAKE_DRIVER_LOG=" + folder_.file("log")};
    words.insert(words.end(), settings.begin(), settings.end());
    words.insert(words.end(), {gpu_worker_path().string(), folder_.file("plan"), "--rows", folder_.file("rows")});
    words.insert(words.end(), options.begin(), options.end());
    std::filesystem::remove(folder_.file("log"));
    return cuda::run_program(words);
  }

  std::vector<std::string> rows() const { return lines_of(cuda::file_bytes(folder_.file("rows"))); }
  std::vector<std::string> calls() const { return lines_of(cuda::file_bytes(folder_.file("log"))); }

  cuda::TemporaryFolder folder_;
};

}  // namespace tilescope::tests
