// SPDX-License-Identifier: Apache-2.0
// Any text is kernels or a list of mistakes, never both and never neither; kernels survive the way through JSON.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arch/load.h"
#include "base/check.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "lower/kernel_document.h"
#include "lower/print.h"

namespace {

using namespace tilescope;

const arch::ArchSpec& chip() {
  static const arch::ArchSpec kChip = [] {
    base::Diagnostics diags;
    auto loaded = arch::load_arch("h100_pcie", {}, diags);
    base::check(loaded.has_value(), "the device h100_pcie loads");
    return *loaded;
  }();
  return kChip;
}

std::optional<lower::KernelDocument> read(std::string_view text, base::Diagnostics& diags) {
  const auto document = base::read_json(text, diags.add_source("fuzz.json"), diags, lower::kKernelLimits);
  if (!document) return std::nullopt;
  return lower::read_kernels(*document, chip(), diags);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  base::Diagnostics diags;
  const auto kernels = read({reinterpret_cast<const char*>(data), size}, diags);
  base::check(kernels.has_value() == diags.ok(), "a text without mistakes is kernels");
  if (!kernels) return 0;

  lower::print(kernels->module);
  const auto again = read(base::to_json(lower::to_document(kernels->module, kernels->arch, {}, false)), diags);
  base::check(again.has_value(), "what was written is read");
  base::check(again->module == kernels->module, "what is read again is the same");
  return 0;
}
