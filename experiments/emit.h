#pragma once
// `tilescope emit` and `compile --print kernel`: what a program tells the chip, as text.

#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/programs.h"

namespace tilescope::experiments {

// The kernels of a program document (CompiledProgram::document), as lower/print.h shows them. Nothing where the program
// cannot run on the chip.
std::optional<std::string> kernel_text(const base::Value& program, const arch::ArchSpec& a, base::Diagnostics& diags);

// CUDA C++, and what launches it.
struct EmittedProgram {
  std::string text;      // headed by what it computes and by how its kernels are launched
  base::Value document;  // the text, the arrays to allocate and the kernels in their order, as docs/json.md says
};

// The kernels of a program file. Nothing where the program cannot run on the chip.
std::optional<EmittedProgram> emit_cuda(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::experiments
