// SPDX-License-Identifier: Apache-2.0
#include "api/given_kernels.h"

#include <string>

#include <fmt/format.h>

#include "targets/target.h"

namespace tilescope::api {

const base::DocumentLimits kKernelFileLimits = lower::kKernelLimits;

std::optional<lower::KernelDocument> read_kernel_file(const NamedText& file, const arch::ArchSpec& a,
                                                      base::Diagnostics& diags, const lower::KernelLimits& limits) {
  const base::SourceId id = diags.add_source(file.name);
  if (const std::string why = targets::why_unsupported(a, &targets::Target::count); !why.empty()) {
    diags.error({id}, why);
    return std::nullopt;
  }
  const auto document = base::read_json(file.text, id, diags, lower::kKernelLimits);
  auto kernels = document ? lower::read_kernels(*document, a, diags, limits) : std::nullopt;
  if (kernels && !kernels->arch.empty() && kernels->arch != a.name)
    diags.note({id}, fmt::format("made for {}, used on {}", kernels->arch, a.name));
  return kernels;
}

}  // namespace tilescope::api
