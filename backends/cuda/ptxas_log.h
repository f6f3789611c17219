// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a chip's compiler says of the kernels that it made, and of what is wrong with their text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cuda {

// What one kernel takes of the chip; per thread but for `shared_bytes`, which are a block's.
struct KernelUsage {
  std::string name;
  std::int64_t registers = 0;  // 32-bit
  std::int64_t stack_bytes = 0;
  std::int64_t spill_store_bytes = 0, spill_load_bytes = 0;  // that instructions move, each counted once
  std::int64_t shared_bytes = 0;                             // that the text itself declares

  bool operator==(const KernelUsage&) const = default;
};

// The kernels of a log that ptxas writes with -v, in its order.
std::vector<KernelUsage> usage_in(std::string_view log);

// Whether an error of the log is the assembler's, about a line of PTX and not of the text.
bool is_about_ptx(std::string_view log);

// The first error of NVRTC's log about a text that was compiled under the name kTextName, in one line: with the number
// and the words of the text's line where the log names one. Of an error about PTX, `ptx` with lines of the text in it
// (--generate-line-info) tells it.
std::string first_error_in(std::string_view log, std::string_view text, std::string_view ptx = {});

inline constexpr std::string_view kTextName = "kernels.cu";

}  // namespace tilescope::cuda
