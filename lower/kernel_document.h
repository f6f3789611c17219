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
  std::string arch;  // the chip that it was made for; empty where it names none
  Module module;
  // The stages that the kernels compute, only as tile spaces without a tiling. nullopt where the document states none.
  std::optional<tile::RProgram> computes;
};

// The value of a Kernel document's `format`.
inline constexpr std::int64_t kKernelFormat = 1;

// Kernel documents may be larger and deeper than others; documents beyond these limits are refused.
inline constexpr base::DocumentLimits kKernelLimits{std::size_t{16} << 20, 200};

// Reads a document; its matrix instructions are the chip's of the same names. nullopt, with errors, where it is no
// Kernel document or breaks a rule of lower/check.h. The time is bounded by the document's size and by lower/check.h.
std::optional<KernelDocument> read_kernels(const base::Value& document, const arch::ArchSpec& chip,
                                           base::Diagnostics& diags, const KernelLimits& limits = {});

// The document of a module; read_kernels reads it back to an equal one. `computes` are nodes of a program's document;
// `carried` says that their reductions are online ones (docs/json.md, PROGRAM).
base::Value to_document(const Module& m, const std::string& arch, const base::List& computes, bool carried);

}  // namespace tilescope::lower
