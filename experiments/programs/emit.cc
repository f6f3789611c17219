// SPDX-License-Identifier: Apache-2.0
#include "experiments/programs/emit.h"

#include <fmt/format.h>

#include "backends/cuda/emit.h"
#include "experiments/programs/code.h"
#include "experiments/programs/detail/launch_document.h"
#include "experiments/programs/given.h"
#include "targets/lowered.h"
#include "targets/target.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

// The dialect of that name, or an error that lists the names.
std::optional<cuda::Dialect> dialect_of(std::string_view name, base::Diagnostics& diags) {
  if (name == "cuda") return cuda::Dialect::kCuda;
  if (name == "hip") return cuda::Dialect::kHip;
  diags.error({diags.add_source("--dialect")},
              fmt::format("expected one of cuda, hip, got '{}'{}", name, base::did_you_mean(name, {"cuda", "hip"})));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> kernel_text(const base::Value& document, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto program = tile::read_program(document, a, diags);
  if (!program) return std::nullopt;
  const auto lowered = targets::target_of(a).lower(*program, a, diags, base::Position{diags.add_source("program")});
  if (!lowered) return std::nullopt;
  return targets::target_of(a).print(*lowered);
}

std::optional<EmittedProgram> emit_program(const NamedText& file, std::string_view dialect, const arch::ArchSpec& a,
                                           base::Diagnostics& diags) {
  const auto language = dialect_of(dialect, diags);
  const auto program = read_program_file(file, a, diags);
  if (!language || !program) return std::nullopt;
  const base::Position at{diags.add_source(file.name)};
  const auto lowered = targets::target_of(a).lower(*program, a, diags, at);
  if (!lowered) return std::nullopt;
  auto emitted = targets::target_of(a).emit(*lowered, about(*program), *language, diags, at);
  if (!emitted || !diags.ok()) return std::nullopt;
  base::Value document = launch_document(lowered->module(), *emitted);
  return EmittedProgram{std::move(emitted->text), std::move(document)};
}

}  // namespace tilescope::experiments
