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

// CUDA C++ of a program file's kernels, headed by what it computes and by how its kernels are launched.
std::optional<std::string> emit_cuda(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::experiments
