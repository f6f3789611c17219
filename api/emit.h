// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope emit` and `compile --print kernel`: what a program tells the chip, as text.

#include <optional>
#include <string>
#include <string_view>

#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// The kernels of a program document (CompiledProgram::document), as lower/print.h shows them. Nothing where the program
// cannot run on the chip.
std::optional<std::string> kernel_text(const base::Value& program, const arch::ArchSpec& a, base::Diagnostics& diags);

// The same as a Kernel document (lower/kernel_document.h).
std::optional<base::Value> kernel_document(const base::Value& program, const arch::ArchSpec& a,
                                           base::Diagnostics& diags);

// CUDA C++ or HIP, and what launches it.
struct EmittedProgram {
  std::string text;      // headed by what it computes and by how its kernels are launched
  base::Value document;  // the text, the arrays to allocate and the kernels in their order, as docs/json.md says
};

// The kernels of a program file in a dialect, cuda or hip. Nothing where it is neither, or the program cannot run on
// the chip or be said in it.
std::optional<EmittedProgram> emit_program(const NamedText& file, std::string_view dialect, const arch::ArchSpec& a,
                                           base::Diagnostics& diags);

// The kernels of a Kernel document likewise.
std::optional<EmittedProgram> emit_kernels(const NamedText& file, std::string_view dialect, const arch::ArchSpec& a,
                                           base::Diagnostics& diags);

}  // namespace tilescope::api
