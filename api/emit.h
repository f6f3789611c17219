// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope emit` and `compile --print kernel`: the kernels of a program as text.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// The kernels of a program document (CompiledProgram::document), printed by lower/print.h. Nullopt, with errors in
// `diags`, if the program cannot run on the chip.
std::optional<std::string> kernel_text(const base::Value& program, const arch::ArchSpec& a, base::Diagnostics& diags);

// The same kernels as a Kernel document (lower/kernel_document.h).
std::optional<base::Value> kernel_document(const base::Value& program, const arch::ArchSpec& a,
                                           base::Diagnostics& diags);

// The JSON Schema of Kernel documents.
base::Value kernels_schema();

// Kernels as CUDA C++ or HIP, and how to launch them.
struct EmittedProgram {
  std::string text;      // its head says what it computes and how its kernels are launched
  base::Value document;  // the text, the arrays to allocate and the kernels in their order, as docs/json.md says
};

// Emits the kernels of a program file in a dialect: cuda, hip, or cpu, C++ as `verify` compiles it. Returns nullopt,
// with errors in `diags`, if the dialect is none of them, the program cannot run on the chip, or the dialect cannot
// express it.
std::optional<EmittedProgram> emit_program(const NamedText& file, std::string_view dialect, const arch::ArchSpec& a,
                                           base::Diagnostics& diags);

// Likewise for the kernels of a Kernel document.
std::optional<EmittedProgram> emit_kernels(const NamedText& file, std::string_view dialect, const arch::ArchSpec& a,
                                           base::Diagnostics& diags);

struct EmittedFile {
  std::string name;  // a path in the folder
  std::string text;
};

// The same kernels of either file with a program that launches and times them through the CUDA driver: kernels.cu,
// launch.cc and a Makefile. The dialect must be cuda.
std::optional<std::vector<EmittedFile>> emit_with_launcher(const NamedText& file, bool is_program,
                                                           std::string_view dialect, const arch::ArchSpec& a,
                                                           base::Diagnostics& diags);

}  // namespace tilescope::api
