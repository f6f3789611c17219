// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a compiler's log: the resources of the compiled kernels, and the errors in their text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cuda {

// The resources of one kernel, per thread; `shared_bytes` is per block.
struct KernelUsage {
  std::string name;
  std::int64_t registers = 0;  // 32-bit
  std::int64_t stack_bytes = 0;
  std::int64_t spill_store_bytes = 0, spill_load_bytes = 0;  // moved by instructions, each counted once
  std::int64_t shared_bytes = 0;                             // declared in the text itself

  bool operator==(const KernelUsage&) const = default;
};

// The kernels in a log of ptxas -v, in the log's order.
std::vector<KernelUsage> usage_in(std::string_view log);

// Whether the log has an error of the assembler, about a line of PTX and not of the text.
bool is_about_ptx(std::string_view log);

// The first error of NVRTC's log about a text that was compiled under the name kTextName, in one line: with the number
// and the words of the text's line where the log names one. For an error about PTX, that line comes from `ptx`, which
// has the lines of the text in it (--generate-line-info).
std::string first_error_in(std::string_view log, std::string_view text, std::string_view ptx = {});

inline constexpr std::string_view kTextName = "kernels.cu";

}  // namespace tilescope::cuda
