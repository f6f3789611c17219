// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels as documents: what `compile --print kernel --json` writes and `--kernel` reads (docs/json.md, KERNEL).

#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "lower/check.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::lower {

struct KernelDocument {
  std::string arch;  // the chip that it was made for; empty where it does not say
  Module module;
  // The stages that the kernels compute, by their spaces alone: nothing is cut. Nothing where the document says none.
  std::optional<tile::RProgram> computes;
};

// The number that a Kernel document's `format` has.
inline constexpr std::int64_t kKernelFormat = 1;

// Documents may be larger and deeper than others; what exceeds this is refused.
inline constexpr base::DocumentLimits kKernelLimits{std::size_t{16} << 20, 200};

// A document, with the chip's matrix instructions of the names that it says. Nothing, after errors, where it is none or
// a rule of lower/check.h is broken. Time is bounded by the document's size and by lower/check.h.
std::optional<KernelDocument> read_kernels(const base::Value& document, const arch::ArchSpec& chip,
                                           base::Diagnostics& diags, const KernelLimits& limits = {});

// The document that read_kernels reads back to the same. `computes` are nodes of a program's document; `carried` says
// that sums are carried on from step to step (docs/json.md, PROGRAM).
base::Value to_document(const Module& m, const std::string& arch, const base::List& computes, bool carried);

}  // namespace tilescope::lower
